#include <config.h>

#include <launcher/plm/start_tree.h>

uint32_t start_tree_block(uint32_t daemons, uint32_t threshold)
{
    uint32_t block = 1;
    if (threshold == 0 || daemons < threshold) {
        return 1;
    }
    while ((uint64_t) block * block < daemons) {
        block++;
    }
    return block;
}

uint32_t start_tree_head(uint32_t block, uint32_t vpid)
{
    return vpid - (vpid - 1) % block;
}
