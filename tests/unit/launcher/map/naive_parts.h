/* What the files of the naive mapper share. */
#ifndef TESTS_UNIT_LAUNCHER_MAP_NAIVE_PARTS_H
#define TESTS_UNIT_LAUNCHER_MAP_NAIVE_PARTS_H

#include <tests/unit/launcher/map/naive.h>

/* The level that processors are. */
unsigned naive_processor_level(const struct naive *naive);
/* The objects of a level that have a usable processor, by logical number. */
uint32_t naive_objects_of(const struct naive_node *node, unsigned level, uint64_t *objects);
unsigned naive_map_level(const struct placement *placement);
/* The object of a level that has the first of these threads; 0: none of them is usable. */
uint64_t naive_first_object(const struct naive_node *node, unsigned level, uint64_t threads);
/* Counts one rank on an object of the mapping, where ranks are added by object. */
void naive_load_object(const struct naive *naive, struct naive_node *node, uint64_t object);
bool naive_map_program(struct naive *naive, uint32_t program);
bool naive_number(struct naive *naive);
bool naive_bind_one(struct naive *naive, struct naive_rank *rank, unsigned level);
bool naive_lives(const struct naive *naive, uint32_t rank);

#endif
