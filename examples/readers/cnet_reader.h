/* Reads bundles of cnet (docs/bundle-format.md). Only the C library is needed. */
#ifndef CNET_READER_H
#define CNET_READER_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
    char *name;
    char *dtype; /* of the original tensor, such as "bfloat16" */
    int64_t *shape;
    int axes;
    size_t size;         /* number of elements */
    unsigned char *data; /* floating-point types as float32 (float64 as float64), all others as their bytes */
    size_t bytes;        /* of data */
} CnetTensor;

typedef struct {
    CnetTensor *tensors;
    size_t count;
} CnetBundle;

/* Decode a whole file in memory. On damage or what this reader does not know, a message is printed and the process
 * ends with status 1: a program that goes on would replace `fail` in bytes.c. */
CnetBundle cnet_read_bundle(const unsigned char *file, size_t length);

#endif
