/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Opening files without taking the place of the standard streams. */
#include "base/descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

int acui_descriptor(int descriptor)
{
    if (descriptor < 0 || descriptor > 2)
        return descriptor;
    int higher = fcntl(descriptor, F_DUPFD_CLOEXEC, 3), error = errno;
    close(descriptor);
    errno = error;
    return higher;
}

int acui_open(const char *path, int flags)
{
    return acui_descriptor(open(path, flags | O_CLOEXEC));
}

int acui_open_new(const char *path, int flags)
{
    return acui_descriptor(open(path, flags | O_CLOEXEC, 0600));
}

DIR *acui_open_folder(const char *path)
{
    int folder = acui_open(path, O_RDONLY | O_DIRECTORY);
    DIR *dir = folder < 0 ? NULL : fdopendir(folder);
    if (folder >= 0 && !dir)
        close(folder);
    return dir;
}
