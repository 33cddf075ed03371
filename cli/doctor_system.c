/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* acuda doctor: the driver, and what the system lets a process do. */
#include "doctor.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* ---- the driver ---- */

/* What the device files say about a GPU that can not be used; "": nothing. */
static const char *about_device_files(const doctor *d)
{
    static const char *const names[] = {"nvidiactl", "nvidia0", "nvidia-uvm"};
    char path[600];
    snprintf(path, sizeof path, "%.500s/proc/driver/nvidia/version", d->root);
    bool module = access(path, F_OK) == 0;
    int missing = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%.500s/dev/%s", d->root, names[i]);
        int file = open(path, O_RDWR | O_CLOEXEC);
        if (file >= 0)
            close(file);
        else if (errno == EACCES || errno == EPERM)
            return "this user may not open /dev/nvidia*: the group of these files (ls -l) must be "
                   "one of the user's, or the container must be given the devices";
        else
            missing++;
    }
    if (!module)
        return "the kernel has no NVIDIA driver loaded (/proc/driver/nvidia): install it, or load "
               "it (modprobe nvidia); in a container, start that with --gpus all";
    return missing ? "/dev/nvidia* is missing: run nvidia-modprobe, or start the container with "
                     "--gpus all"
                   : "";
}

/* What a driver's own error says about the machine; "": nothing. */
static const char *about_error(const acu_error *error)
{
    if (strstr(error->message, "finds no device") && getenv("CUDA_VISIBLE_DEVICES"))
        return "CUDA_VISIBLE_DEVICES is set, and may hide all GPUs: unset it, or name one";
    switch (error->driver_result) {
    case 802: /* CUDA_ERROR_SYSTEM_NOT_READY */
        return "the GPUs behind an NVSwitch need their fabric manager: systemctl start "
               "nvidia-fabricmanager";
    case 803: /* CUDA_ERROR_SYSTEM_DRIVER_MISMATCH */
        return "the kernel's driver and this library are of different versions, as after an "
               "upgrade: restart the machine; in a container, start that again";
    case 804: /* CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE */
        return "this is a library for forward compatibility, which such a GPU does not have: "
               "take cuda-compat out of LD_LIBRARY_PATH";
    default:
        return "";
    }
}

static void driver_failed(const doctor *d, acu_status status)
{
    const acu_error *error = acu_last_error();
    const char *advice = about_error(error);
    if (*advice || status == ACU_ERR_INVALID) { /* INVALID: the message says what can be named */
        doctor_find_error(d, "driver", DOCTOR_FAIL, advice);
        return;
    }
    if (status == ACU_ERR_NOT_SUPPORTED)
        advice = "install a driver of CUDA 11.4 (470) or newer";
    else if (strstr(error->message, "SOFTCUDA_"))
        advice = "correct the setting that is named (docs/software-device.md)";
    else if (strstr(error->message, "could change it"))
        advice = "change the owner or the mode of what is named";
    else if (d->driver == NULL || strcmp(d->driver, "gpu") == 0 || error->driver_result)
        advice = about_device_files(d);
    if (!*advice)
        advice =
            "reinstall the NVIDIA driver, or ask for the software device: ACUDA_DRIVER=software";
    doctor_find_error(d, "driver", DOCTOR_FAIL, advice);
}

bool doctor_driver(doctor *d)
{
    doctor_begin(d, "driver");
    acu_status status = cli_open_driver(d->driver);
    if (status != ACU_OK) {
        driver_failed(d, status);
        return false;
    }
    const acu_driver_info *info = acu_driver_info_of();
    const char *asked = d->driver ? d->driver : getenv("ACUDA_DRIVER");
    char which[400];
    snprintf(which, sizeof which, "%s, CUDA %d.%d, %d device%s",
             info->path ? info->path : "the software device", info->version / 1000,
             info->version % 1000 / 10, info->devices, info->devices == 1 ? "" : "s");
    if (info->software && !asked)
        doctor_find(d, "driver", DOCTOR_NOTE, about_device_files(d),
                    "no GPU can be used here, so this is %s; programs get it only where they or "
                    "ACUDA_ALLOW_SOFTWARE=1 allow it",
                    which);
    else
        doctor_find(d, "driver", DOCTOR_OK, "", "%s", which);
    d->devices = info->devices;
    return true;
}

/* ---- the system ---- */

static void check_shared_memory(const doctor *d)
{
    char path[600];
    struct statvfs info;
    snprintf(path, sizeof path, "%.500s/dev/shm", d->root);
    doctor_begin(d, "/dev/shm");
    if (statvfs(path, &info) != 0 || access(path, W_OK) != 0) {
        doctor_find(d, "/dev/shm", DOCTOR_NOTE,
                    "start the container with --ipc=host or --shm-size=1g",
                    "it can not be used (%s): NCCL and memory shared between processes need it",
                    strerror(errno));
        return;
    }
    unsigned long long free_mib = (unsigned long long)info.f_bavail * info.f_frsize >> 20;
    if (free_mib < 128)
        doctor_find(d, "/dev/shm", DOCTOR_NOTE, "start the container with --shm-size=1g",
                    "%llu MiB are free: too little for NCCL with several GPUs", free_mib);
    else
        doctor_find(d, "/dev/shm", DOCTOR_OK, "", "%llu MiB free", free_mib);
}

static void check_limits(const doctor *d)
{
    struct rlimit addresses = {0}, files = {0};
    doctor_begin(d, "limits");
    getrlimit(RLIMIT_AS, &addresses);
    getrlimit(RLIMIT_NOFILE, &files);
    if (addresses.rlim_cur != RLIM_INFINITY)
        doctor_find(
            d, "limits", DOCTOR_NOTE, "ulimit -v unlimited",
            "addresses are limited to %llu MiB; drivers reserve several times the memory of "
            "their devices",
            (unsigned long long)addresses.rlim_cur >> 20);
    else if (files.rlim_cur < 256)
        doctor_find(d, "limits", DOCTOR_NOTE, "ulimit -n 1024",
                    "at most %llu files may be open; a driver alone opens dozens for each device",
                    (unsigned long long)files.rlim_cur);
    else
        doctor_find(d, "limits", DOCTOR_OK, "", "none that is too low");
}

static void check_cache(const doctor *d)
{
    const char *folder = getenv("ACUDA_CACHE_DIR");
    acu_compile_settings settings = {.size = sizeof settings};
    doctor_begin(d, "cache");
    if (acu_compile_configure(&settings) != ACU_OK)
        doctor_find_error(d, "cache", DOCTOR_NOTE, "change the owner or the mode of what is named");
    else if (folder)
        doctor_find(d, "cache", DOCTOR_OK, "", "compiled code is kept in %.400s", folder);
    else
        doctor_find(d, "cache", DOCTOR_OK, "",
                    "compiled code is not kept: ACUDA_CACHE_DIR can name a folder");
}

void doctor_system(doctor *d)
{
    check_shared_memory(d);
    check_limits(d);
    check_cache(d);
}
