/* decode BUNDLE: each tensor as a line of name, element type, shape and the bytes of its numbers in hex, between tabs.
 *
 *     cc -std=c99 -O2 -ffp-contract=off *.c -o decode -lm
 */
#include <stdio.h>

#include "bytes.h"
#include "cnet_reader.h"

int main(int count, char **arguments) {
    if (count != 2) fail("usage: decode BUNDLE");
    FILE *file = fopen(arguments[1], "rb");
    if (!file || fseek(file, 0, SEEK_END)) fail("%s cannot be read", arguments[1]);
    size_t length = (size_t)ftell(file);
    unsigned char *content = allocate(length, 1);
    rewind(file);
    if (fread(content, 1, length, file) != length) fail("%s cannot be read", arguments[1]);
    fclose(file);
    CnetBundle bundle = cnet_read_bundle(content, length);
    for (size_t index = 0; index < bundle.count; index++) {
        const CnetTensor *tensor = bundle.tensors + index;
        printf("%s\t%s\t", tensor->name, tensor->dtype);
        for (int axis = 0; axis < tensor->axes; axis++) printf("%s%lld", axis ? "x" : "", (long long)tensor->shape[axis]);
        putchar('\t');
        for (size_t each = 0; each < tensor->bytes; each++) printf("%02x", tensor->data[each]);
        putchar('\n');
    }
    return 0;
}
