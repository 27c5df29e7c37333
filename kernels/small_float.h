/* small_float.h - bfloat16 and float16 as 16 bits, to float and back, without branches, so that
 * loops over them vectorise on any compiler. Rounds to nearest, ties to even; NaN stays NaN.
 */
#ifndef CCLTUNE_SMALL_FLOAT_H
#define CCLTUNE_SMALL_FLOAT_H

#include "machine.h"

MACHINE_FUNCTION float small_as_float(uint32_t bits)
{
    union {
        uint32_t bits;
        float value;
    } u;
    u.bits = bits;
    return u.value;
}

MACHINE_FUNCTION uint32_t small_as_bits(float value)
{
    union {
        uint32_t bits;
        float value;
    } u;
    u.value = value;
    return u.bits;
}

MACHINE_FUNCTION float small_from_bfloat16(uint16_t h)
{
    return small_as_float((uint32_t)h << 16);
}

#ifdef __CUDACC__
MACHINE_FUNCTION float small_from_float16(uint16_t h)
{
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(h));
    return value;
}

MACHINE_FUNCTION uint16_t small_to_bfloat16(float value)
{
    uint16_t h;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(h) : "f"(value));
    return h;
}

MACHINE_FUNCTION uint16_t small_to_float16(float value)
{
    uint16_t h;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(value));
    return h;
}
#else
/* All ones where x >= y: what a comparison of vectors gives, which a conditional may not become. */
MACHINE_FUNCTION uint32_t small_at_least(uint32_t x, uint32_t y)
{
    return 0U - (uint32_t)((int32_t)x >= (int32_t)y);
}

MACHINE_FUNCTION uint16_t small_to_bfloat16(float value)
{
    uint32_t bits = small_as_bits(value);
    uint32_t rounded = (bits + 0x7fffU + (bits >> 16 & 1)) >> 16;
    uint32_t is_nan = small_at_least(bits & 0x7fffffffU, 0x7f800001U);
    return (uint16_t)(((bits >> 16 | 0x40U) & is_nan) | (rounded & ~is_nan));
}

/* The exponent moves by a multiplication, which makes denormals right too. */
MACHINE_FUNCTION float small_from_float16(uint16_t h)
{
    const float two_to_112 = 5192296858534827628530496329220096.0F;
    uint32_t magnitude = (uint32_t)(h & 0x7fff) << 13;
    uint32_t scaled = small_as_bits(small_as_float(magnitude) * two_to_112);
    uint32_t special = 0x7f800000U & small_at_least(magnitude, 0x0f800000U); /* infinity, NaN */
    return small_as_float(scaled | special | (uint32_t)(h & 0x8000) << 16);
}

MACHINE_FUNCTION uint16_t small_to_float16(float value)
{
    const uint32_t infinity = 0x7f800000U, too_large = 143U << 23, smallest_normal = 113U << 23;
    uint32_t bits = small_as_bits(value), magnitude = bits & 0x7fffffffU;
    uint32_t odd = magnitude >> 13 & 1;
    uint32_t normal = (magnitude - (112U << 23) + 0xfffU + odd) >> 13;
    /* Adding 0.5 leaves the bits of a denormal, rounded, at the end of the mantissa. */
    uint32_t denormal = small_as_bits(small_as_float(magnitude) + 0.5F) - 0x3f000000U;
    uint32_t special = 0x7c00U | (0x200U & small_at_least(magnitude, infinity + 1));
    uint32_t is_normal = small_at_least(magnitude, smallest_normal);
    uint32_t is_special = small_at_least(magnitude, too_large);
    uint32_t h = (normal & is_normal) | (denormal & ~is_normal);
    h = (special & is_special) | (h & ~is_special);
    return (uint16_t)(h | (bits >> 16 & 0x8000U));
}
#endif

#endif
