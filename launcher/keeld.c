/* keeld: the daemon of a node that is not keelrun's own. See keelrun(1). */
#include <config.h>

#include <launcher/keeld_main.h>

int main(void)
{
    return keeld_main();
}
