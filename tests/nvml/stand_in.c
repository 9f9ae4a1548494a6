/* A libnvidia-ml.so.1 whose devices, values and failures a test scripts.
 *
 * Signatures, structures and codes are those of NVIDIA's nvml.h, as far as keras_perf calls them;
 * a device is scripted through the stand_in_* functions at the end, which nvml.h does not have. */

#include <stdio.h>
#include <string.h>
#include <time.h>

enum { SUCCESS = 0, UNINITIALIZED = 1, INVALID_ARGUMENT = 2, NOT_SUPPORTED = 3, NO_PERMISSION = 4,
       NOT_FOUND = 6, INSUFFICIENT_SIZE = 7, GPU_IS_LOST = 15 };
enum { DEVICES = 16, CALLS = 64, SERIES = 32, METRICS = 477, PROCESSES = 8 };

typedef unsigned long long u64;

typedef struct {
    char name[96], uuid[96];
    int parent, instance;            /* of a MIG instance; parent is -1 for a whole GPU */
    int mig, persistence, counting;
    unsigned utilization, memory_utilization, power_mw, temperature, clocks[4];
    u64 used, reserved, total, energy_mj, reasons;
    unsigned lanes, max_lanes, generation, max_generation, pcie[2];
    unsigned series[SERIES], series_length, series_begin;
    unsigned pids[PROCESSES], processes;
    u64 process_memory[PROCESSES];
    int has_gpm;
    double gpm[METRICS];
} device_t;

typedef struct { int used, span, device; } sample_t;
typedef struct { char name[64]; int code, device; } failure_t;
typedef struct { u64 total, free, used; } memory_t;
typedef struct { unsigned version; u64 total, reserved, free, used; } memory_v2_t;
typedef struct { unsigned gpu, memory; } utilization_t;
typedef struct { u64 time; union { double d; unsigned u; u64 l; } value; } buffered_t;
typedef struct { unsigned pid; u64 memory; unsigned gpu_instance, compute_instance; } process_t;
typedef struct { char *short_name, *long_name, *unit; } metric_info_t;
typedef struct { unsigned id; int code; double value; metric_info_t info; } metric_t;
typedef struct { unsigned version, count; sample_t *first, *second; metric_t metrics[METRICS]; } query_t;
typedef struct { unsigned version, supported; } support_t;

static device_t devices[DEVICES];
static sample_t samples[2 * DEVICES];
static failure_t failures[CALLS];
static int device_count, failure_count, failed_calls, users, stale, open_samples, spans;

/* Of a call, for all devices or the given one; the name "*" is every call of a device. */
static int scripted(const char *name, int device) {
    for (int i = 0; i < failure_count; i++)
        if ((failures[i].device < 0 || failures[i].device == device) &&
            (!strcmp(failures[i].name, name) || (device >= 0 && !strcmp(failures[i].name, "*")))) {
            failed_calls++;
            return failures[i].code;
        }
    return SUCCESS;
}

/* What every call does first: a scripted failure, NVML not started, a handle that is none. */
#define BEGIN                                                   \
    do {                                                        \
        int code_ = scripted(__func__, -1);                     \
        if (code_) return code_;                                \
        if (!users || stale) return UNINITIALIZED;              \
    } while (0)
#define BEGIN_OF(d)                                             \
    do {                                                        \
        BEGIN;                                                  \
        if ((d) < devices || (d) >= devices + DEVICES) return INVALID_ARGUMENT; \
        int code_of_ = scripted(__func__, (int)((d) - devices)); \
        if (code_of_) return code_of_;                          \
    } while (0)
#define WHOLE_ONLY(d) do { if ((d)->parent >= 0) return NOT_SUPPORTED; } while (0)

int nvmlInitWithFlags(unsigned flags) {
    (void)flags;
    int code = scripted(__func__, -1);
    if (!code) users++;
    return code;
}

/* Only the last one to leave ends what a reset of the driver has spoilt. */
int nvmlShutdown(void) {
    if (!users) return UNINITIALIZED;
    if (!--users) stale = 0;
    return SUCCESS;
}

const char *nvmlErrorString(int code) {
    switch (code) {
    case UNINITIALIZED: return "Uninitialized";
    case INVALID_ARGUMENT: return "Invalid Argument";
    case NOT_SUPPORTED: return "Not Supported";
    case NO_PERMISSION: return "Insufficient Permissions";
    case NOT_FOUND: return "Not Found";
    case GPU_IS_LOST: return "GPU is lost";
    default: return "Unknown Error";
    }
}

int nvmlDeviceGetCount_v2(unsigned *count) {
    BEGIN;
    *count = 0;
    for (int i = 0; i < device_count; i++) *count += devices[i].parent < 0;
    return SUCCESS;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, device_t **device) {
    BEGIN;
    for (int i = 0; i < device_count; i++)
        if (devices[i].parent < 0 && !index--) {
            *device = &devices[i];
            return scripted(__func__, i);
        }
    return INVALID_ARGUMENT;
}

int nvmlDeviceGetName(device_t *d, char *name, unsigned length) {
    BEGIN_OF(d); snprintf(name, length, "%s", d->name); return SUCCESS;
}

int nvmlDeviceGetUUID(device_t *d, char *uuid, unsigned length) {
    BEGIN_OF(d); snprintf(uuid, length, "%s", d->uuid); return SUCCESS;
}

int nvmlDeviceGetMigMode(device_t *d, unsigned *current, unsigned *pending) {
    BEGIN_OF(d); WHOLE_ONLY(d); *current = *pending = d->mig; return SUCCESS;
}

int nvmlDeviceGetMaxMigDeviceCount(device_t *d, unsigned *count) {
    BEGIN_OF(d); *count = d->mig ? 7 : 0; return SUCCESS;
}

int nvmlDeviceGetMigDeviceHandleByIndex(device_t *d, unsigned index, device_t **instance) {
    BEGIN_OF(d);
    for (int i = 0; i < device_count; i++)
        if (devices[i].parent == d - devices && !index--) { *instance = &devices[i]; return SUCCESS; }
    return NOT_FOUND;
}

int nvmlDeviceGetGpuInstanceId(device_t *d, unsigned *id) {
    BEGIN_OF(d); *id = d->instance; return SUCCESS;
}

int nvmlDeviceGetPersistenceMode(device_t *d, int *mode) {
    BEGIN_OF(d); WHOLE_ONLY(d); *mode = d->persistence; return SUCCESS;
}

int nvmlDeviceGetUtilizationRates(device_t *d, utilization_t *rates) {
    BEGIN_OF(d); WHOLE_ONLY(d);
    rates->gpu = d->utilization; rates->memory = d->memory_utilization;
    return SUCCESS;
}

int nvmlDeviceGetSamples(device_t *d, int kind, u64 since, int *type, unsigned *count,
                         buffered_t *buffer) {
    BEGIN_OF(d); WHOLE_ONLY(d); (void)kind;
    unsigned newer = 0;
    *type = 1;                       /* unsigned int */
    for (unsigned i = 0; i < d->series_length; i++) {
        u64 time = d->series_begin + i + 1;
        if (time <= since) continue;
        if (buffer) { buffer[newer].time = time; buffer[newer].value.u = d->series[i]; }
        newer++;
    }
    *count = newer;
    return newer ? SUCCESS : NOT_FOUND;
}

/* An H200's driver 580 counts what it keeps for itself here, and not in the second version. */
int nvmlDeviceGetMemoryInfo(device_t *d, memory_t *memory) {
    BEGIN_OF(d);
    memory->total = d->total; memory->used = d->used + d->reserved;
    memory->free = d->total - memory->used;
    return SUCCESS;
}

int nvmlDeviceGetMemoryInfo_v2(device_t *d, memory_v2_t *memory) {
    BEGIN_OF(d);
    memory->total = d->total; memory->reserved = d->reserved; memory->used = d->used;
    memory->free = d->total - d->reserved - d->used;
    return SUCCESS;
}

int nvmlDeviceGetPowerUsage(device_t *d, unsigned *mw) {
    BEGIN_OF(d); WHOLE_ONLY(d); *mw = d->power_mw; return SUCCESS;
}

int nvmlDeviceGetTotalEnergyConsumption(device_t *d, u64 *mj) {
    BEGIN_OF(d); WHOLE_ONLY(d);
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    *mj = d->energy_mj;
    if (d->counting) *mj += d->power_mw * (now.tv_sec + now.tv_nsec / 1e9);
    return SUCCESS;
}

int nvmlDeviceGetTemperature(device_t *d, unsigned sensor, unsigned *celsius) {
    BEGIN_OF(d); WHOLE_ONLY(d);
    if (sensor) return INVALID_ARGUMENT;
    *celsius = d->temperature;
    return SUCCESS;
}

int nvmlDeviceGetClockInfo(device_t *d, unsigned clock, unsigned *mhz) {
    BEGIN_OF(d); WHOLE_ONLY(d);
    if (clock > 3) return INVALID_ARGUMENT;
    *mhz = d->clocks[clock];
    return SUCCESS;
}

int nvmlDeviceGetCurrentClocksEventReasons(device_t *d, u64 *reasons) {
    BEGIN_OF(d); WHOLE_ONLY(d); *reasons = d->reasons; return SUCCESS;
}

/* The same, as drivers before 535 have it. */
int nvmlDeviceGetCurrentClocksThrottleReasons(device_t *d, u64 *reasons) {
    BEGIN_OF(d); WHOLE_ONLY(d); *reasons = d->reasons; return SUCCESS;
}

#define NUMBER(function, field)                                 \
    int function(device_t *d, unsigned *value) {                \
        BEGIN_OF(d); WHOLE_ONLY(d); *value = d->field; return SUCCESS; \
    }
NUMBER(nvmlDeviceGetCurrPcieLinkWidth, lanes)
NUMBER(nvmlDeviceGetMaxPcieLinkWidth, max_lanes)
NUMBER(nvmlDeviceGetCurrPcieLinkGeneration, generation)
NUMBER(nvmlDeviceGetMaxPcieLinkGeneration, max_generation)

int nvmlDeviceGetPcieThroughput(device_t *d, unsigned counter, unsigned *kib_per_s) {
    BEGIN_OF(d); WHOLE_ONLY(d);
    if (counter > 1) return INVALID_ARGUMENT;
    *kib_per_s = d->pcie[counter];
    return SUCCESS;
}

int nvmlDeviceGetComputeRunningProcesses_v3(device_t *d, unsigned *count, process_t *found) {
    BEGIN_OF(d);
    unsigned room = *count;
    *count = d->processes;
    if (!d->processes) return SUCCESS;
    if (!found || room < d->processes) return INSUFFICIENT_SIZE;
    for (unsigned i = 0; i < d->processes; i++) {
        memset(&found[i], 0, sizeof found[i]);
        found[i].pid = d->pids[i];
        found[i].memory = d->process_memory[i];
    }
    return SUCCESS;
}

int nvmlGpmQueryDeviceSupport(device_t *d, support_t *support) {
    BEGIN_OF(d);
    if (support->version != 1) return INVALID_ARGUMENT;
    support->supported = d->has_gpm;
    return SUCCESS;
}

int nvmlGpmSampleAlloc(sample_t **sample) {
    BEGIN;
    for (int i = 0; i < 2 * DEVICES; i++)
        if (!samples[i].used) {
            samples[i] = (sample_t){.used = 1};
            open_samples++;
            *sample = &samples[i];
            return SUCCESS;
        }
    return INSUFFICIENT_SIZE;
}

int nvmlGpmSampleFree(sample_t *sample) {
    BEGIN;
    open_samples -= sample->used;
    sample->used = 0;
    return SUCCESS;
}

static int take(device_t *d, sample_t *sample) {
    if (!sample->used) return INVALID_ARGUMENT;
    sample->span = ++spans;
    sample->device = d - devices;
    return SUCCESS;
}

int nvmlGpmSampleGet(device_t *d, sample_t *sample) { BEGIN_OF(d); return take(d, sample); }

int nvmlGpmMigSampleGet(device_t *d, unsigned instance, sample_t *sample) {
    BEGIN_OF(d);
    for (int i = 0; i < device_count; i++)
        if (devices[i].parent == d - devices && devices[i].instance == (int)instance)
            return take(&devices[i], sample);
    return NOT_FOUND;
}

/* A span that is not between two successive samples of one device is refused: nothing may be
 * missed, and nothing counted twice. A negative value is a metric that the device lacks. */
int nvmlGpmMetricsGet(query_t *query) {
    BEGIN;
    if (query->version != 1 || query->first->span >= query->second->span ||
        query->first->device != query->second->device)
        return INVALID_ARGUMENT;
    device_t *d = &devices[query->first->device];
    for (unsigned i = 0; i < query->count; i++) {
        metric_t *metric = &query->metrics[i];
        metric->value = d->gpm[metric->id];
        metric->code = metric->value < 0 ? NOT_SUPPORTED : SUCCESS;
    }
    return SUCCESS;
}

/* -- scripting -------------------------------------------------------------------------- */

device_t *stand_in_add(const char *name, const char *uuid, int parent, int instance) {
    device_t *d = &devices[device_count++];
    memset(d, 0, sizeof *d);
    snprintf(d->name, sizeof d->name, "%s", name);
    snprintf(d->uuid, sizeof d->uuid, "%s", uuid);
    d->parent = parent;
    d->instance = instance;
    if (parent >= 0) devices[parent].mig = 1;
    d->persistence = 1;
    d->utilization = 90; d->memory_utilization = 40;
    d->power_mw = 312500; d->temperature = 61;
    d->clocks[0] = d->clocks[1] = 1980; d->clocks[2] = 3201;
    d->total = 4000ull << 20; d->used = 1000ull << 20; d->reserved = 600ull << 20;
    d->lanes = d->max_lanes = 16; d->generation = d->max_generation = 5;
    d->pcie[0] = 2048; d->pcie[1] = 1024;
    for (int i = 0; i < METRICS; i++) d->gpm[i] = i;
    return d;
}

int stand_in_set(int device, const char *field, double value) {
    device_t *d = &devices[device];
#define FIELD(name) if (!strcmp(field, #name)) { d->name = value; return 0; }
    FIELD(utilization) FIELD(power_mw) FIELD(energy_mj) FIELD(reasons) FIELD(lanes)
    FIELD(generation) FIELD(has_gpm) FIELD(mig) FIELD(persistence)
    FIELD(counting) FIELD(temperature)
    if (!strcmp(field, "sm_clock")) { d->clocks[1] = value; return 0; }
    return -1;
}

void stand_in_gpm(int device, int metric, double value) { devices[device].gpm[metric] = value; }

void stand_in_buffer(int device, unsigned value) {
    device_t *d = &devices[device];
    d->series[d->series_length++] = value;
}

void stand_in_process(int device, unsigned pid, u64 bytes) {
    device_t *d = &devices[device];
    d->pids[d->processes] = pid;
    d->process_memory[d->processes++] = bytes;
}

void stand_in_fail(const char *name, int code, int device) {
    failure_t *failure = &failures[failure_count++];
    snprintf(failure->name, sizeof failure->name, "%s", name);
    failure->code = code;
    failure->device = device;
}

void stand_in_heal(void) { failure_count = 0; }

void stand_in_restart(void) {
    stale = users > 0;
    open_samples = 0;
    memset(samples, 0, sizeof samples);
}

int stand_in_failed_calls(void) { return failed_calls; }

int stand_in_users(void) { return users; }

int stand_in_open_samples(void) { return open_samples; }

void stand_in_reset(void) {
    device_count = failure_count = failed_calls = users = stale = open_samples = spans = 0;
    memset(samples, 0, sizeof samples);
}
