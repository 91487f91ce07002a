#include "numbers.h"

#include <math.h>
#include <string.h>

#include "bytes.h"

typedef struct {
    const char *name;
    int width, exponent_bits, mantissa_bits; /* no bits: no real floating-point type */
    double largest;
} Type;

static const Type TYPES[] = {
    {"float64", 8, 11, 52, 0},   {"float32", 4, 8, 23, 0},    {"float16", 2, 5, 10, 65504},
    {"bfloat16", 2, 8, 7, 3.3895313892515355e38},             {"float8_e5m2", 1, 5, 2, 57344},
    {"float8_e4m3fn", 1, 4, 3, 448}, {"complex64", 8, 0, 0, 0}, {"complex128", 16, 0, 0, 0},
    {"int64", 8, 0, 0, 0},       {"uint64", 8, 0, 0, 0},      {"int32", 4, 0, 0, 0},
    {"uint32", 4, 0, 0, 0},      {"int16", 2, 0, 0, 0},       {"uint16", 2, 0, 0, 0},
    {"int8", 1, 0, 0, 0},        {"uint8", 1, 0, 0, 0},       {"bool", 1, 0, 0, 0},
};

static const Type *type_of(const char *dtype) {
    for (size_t index = 0; index < sizeof TYPES / sizeof *TYPES; index++)
        if (!strcmp(TYPES[index].name, dtype)) return &TYPES[index];
    fail("the element type %s is not known", dtype);
    return NULL;
}

int width_of(const char *dtype) { return type_of(dtype)->width; }

int is_float(const char *dtype) { return type_of(dtype)->exponent_bits > 0; }

static double widen_one(const unsigned char *bytes, const Type *type) {
    if (type->width == 8) {
        double value;
        memcpy(&value, bytes, sizeof value);
        return value;
    }
    if (type->width == 4) {
        float value;
        memcpy(&value, bytes, sizeof value);
        return value;
    }
    int number = (int)little(bytes, type->width), top = (1 << type->exponent_bits) - 1;
    int mantissa = number & ((1 << type->mantissa_bits) - 1), exponent = number >> type->mantissa_bits & top;
    double sign = number >> (8 * type->width - 1) ? -1 : 1;
    if (exponent == top) {
        if (strcmp(type->name, "float8_e4m3fn")) return mantissa ? NAN : sign * INFINITY;
        if (mantissa == 7) return NAN;
    }
    int value = exponent ? mantissa + (1 << type->mantissa_bits) : mantissa;
    return sign * ldexp(value, (exponent ? exponent : 1) - (top >> 1) - type->mantissa_bits);
}

double *widen(const unsigned char *bytes, size_t count, const char *dtype) {
    const Type *type = type_of(dtype);
    double *values = allocate(count, sizeof *values);
    if (!type->exponent_bits) fail("the type %s has no real numbers", dtype);
    for (size_t index = 0; index < count; index++) values[index] = widen_one(bytes + index * (size_t)type->width, type);
    return values;
}

double round_to(double value, const char *dtype) {
    const Type *type = type_of(dtype);
    if (type->width == 8) return value;
    if (type->width == 4) return (float)value;
    if (strcmp(dtype, "float16")) value = (float)value; /* what is no type of NumPy is rounded from float32 */
    if (value == 0 || !isfinite(value)) return value;
    int exponent, least = 2 - (1 << (type->exponent_bits - 1));
    frexp(value, &exponent); /* of a fraction in [0.5, 1) */
    exponent = exponent - 1 > least ? exponent - 1 : least;
    double rounded = ldexp(nearbyint(ldexp(value, type->mantissa_bits - exponent)), exponent - type->mantissa_bits);
    if (fabs(rounded) <= type->largest) return rounded;
    return copysign(strcmp(dtype, "float8_e4m3fn") ? INFINITY : type->largest, value);
}

unsigned char *store(const double *values, size_t count, const char *dtype, size_t *bytes) {
    int wide = !strcmp(dtype, "float64");
    *bytes = count * (wide ? 8 : 4);
    unsigned char *data = allocate(*bytes, 1);
    for (size_t index = 0; index < count; index++) {
        float value = (float)values[index];
        if (wide)
            memcpy(data + 8 * index, &values[index], 8);
        else
            memcpy(data + 4 * index, &value, 4);
    }
    return data;
}
