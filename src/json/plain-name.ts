/**
 * A member's name as the most lenient decoders read it. Go's ignores case, and some fold ſ to s and the Kelvin sign to k;
 * protobuf's JSON (https://protobuf.dev/programming-guides/json) and .NET's take `maxTokens` for `max_tokens`; C's strings
 * end at a zero; and what is no character of a name, or not UTF-8, may be dropped.
 */
export function plainName(key: string): string {
  const end = key.indexOf('\0');
  // Upper case first, which turns ſ into S and the Kelvin sign into K.
  return (end < 0 ? key : key.slice(0, end)).toUpperCase().toLowerCase().replace(UNNAMED, '');
}

const UNNAMED = /[^a-z\d]+/g;
