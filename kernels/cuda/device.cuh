/* device.cuh: the structs of a GPU and a CUDA stream, for gpu.cu and product.cu. The tests' host implementation of gpu.h has its own
 * structs. */
#pragma once

#include <pthread.h>
#include <stdio.h>

#include <cublasLt.h>
#include <cuda.h> /* declarations of the driver's functions and types; the module does not link the driver */

#include "cuda.cuh"

/* Driver functions used here. */
#define DRIVER(function) decltype(&function) function##_at
struct driver {
    DRIVER(cuMemGetAllocationGranularity);
    DRIVER(cuMemAddressReserve);
    DRIVER(cuMemAddressFree);
    DRIVER(cuMemCreate);
    DRIVER(cuMemRelease);
    DRIVER(cuMemMap);
    DRIVER(cuMemUnmap);
    DRIVER(cuMemSetAccess);
};
#undef DRIVER

struct gpu_device {
    int index;
    char name[256];
    driver call;
    size_t granule, memory; /* bytes: allocation granularity; total device memory */
    pthread_mutex_t lock;   /* protects the cuBLASLt handle */
    cublasLtHandle_t products;
};

struct gpu_stream {
    gpu_device *device;
    cudaStream_t stream;
    cublasLtHandle_t products;
    uint64_t launches;
    void *work; /* [GPU_FAST_WORK] device workspace of GEMMs with `fast`; NULL: they use none */
    char why[GPU_ERROR_BYTES]; /* the first failure; empty: none */
};

/* Set the error unless one is set: the failed call, and CUDA's reason. */
static inline void set_error(char why[GPU_ERROR_BYTES], const char *what, const char *message)
{
    if (why[0] == '\0') snprintf(why, GPU_ERROR_BYTES, "%s: %s", what, message);
}

static inline int check_error(char why[GPU_ERROR_BYTES], const char *what, cudaError_t error)
{
    if (error == cudaSuccess) return 0;
    cudaGetLastError(); /* clear the error so that later calls do not report it again */
    set_error(why, what, cudaGetErrorString(error));
    return -1;
}

static inline int check_error(char why[GPU_ERROR_BYTES], const char *what, cublasStatus_t status)
{
    if (status == CUBLAS_STATUS_SUCCESS) return 0;
    set_error(why, what, cublasLtGetStatusString(status));
    return -1;
}
