/**
 * How the input tokens of a hold were bounded: by the bytes of the request, by an exact count, by what an earlier
 * request was reported at and the bytes that it did not have, or by the provider's own count.
 */
export type InputBound = 'bytes' | 'exact' | 'edit' | 'provider_count';
