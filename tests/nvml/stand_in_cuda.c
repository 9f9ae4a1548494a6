/* A libcuda.so.1 that shows the GPUs whose UUIDs the variable STAND_IN_CUDA lists, each as 32
 * hexadecimal digits; "error 804" has cuInit return that, "asleep" never return, "crash" die.
 *
 * A MIG instance's UUID comes from cuDeviceGetUuid_v2 only, as from NVIDIA's. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SUCCESS = 0, NO_DEVICE = 100, INVALID_DEVICE = 101, NOT_INITIALIZED = 3 };

static int initialized;

static const char *listed(void) {
    const char *text = getenv("STAND_IN_CUDA");
    return text ? text : "";
}

int cuInit(unsigned flags) {
    (void)flags;
    if (!strcmp(listed(), "asleep")) pause();
    if (!strcmp(listed(), "crash")) abort();
    if (!strncmp(listed(), "error ", 6)) return atoi(listed() + 6);
    if (!*listed()) return NO_DEVICE;
    initialized = 1;
    return SUCCESS;
}

int cuDeviceGetCount(int *count) {
    if (!initialized) return NOT_INITIALIZED;
    *count = (strlen(listed()) + 1) / 33;
    return SUCCESS;
}

int cuDeviceGet(int *device, int number) {
    int count, code = cuDeviceGetCount(&count);
    if (code) return code;
    if (number < 0 || number >= count) return INVALID_DEVICE;
    *device = number;
    return SUCCESS;
}

int cuDeviceGetUuid_v2(unsigned char *uuid, int device) {
    for (int i = 0; i < 16; i++)
        if (sscanf(listed() + 33 * device + 2 * i, "%2hhx", &uuid[i]) != 1) return INVALID_DEVICE;
    return SUCCESS;
}

int cuDeviceGetUuid(unsigned char *uuid, int device) {
    (void)device;
    memset(uuid, 0, 16);
    return SUCCESS;
}
