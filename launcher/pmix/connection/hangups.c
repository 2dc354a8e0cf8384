#include <config.h>

#include <launcher/pmix/connection/hangups.h>

bool hangups_show(struct hangups *hangups, int fd)
{
    if (hangups->looked[fd] == hangups->shown + 1) {
        hangups->looked[fd] = 0;
        hangups->shown++;
        return true;
    }
    hangups->looked[fd] = hangups->shown + 1;
    return false;
}

void hangups_forget(struct hangups *hangups, int fd)
{
    hangups->looked[fd] = 0;
}
