/* The daemon of a node that is not keelrun's own. Somebody starts it, and tells it on its standard
 * input what it must know. */
#ifndef LAUNCHER_KEELD_MAIN_H
#define LAUNCHER_KEELD_MAIN_H

/* As a program: keelrun starts it through an agent (home.h). First thing in main. Returns its exit
 * code. */
int keeld_main(void);
/* As a fork of the shepherd of a standing daemon (shepherd_start_with), for jobs that come later,
 * one after the other (hosting.h). */
int keeld_spare_main(void);

#endif
