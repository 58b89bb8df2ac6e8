/**
 * A member's name as the most lenient decoders read it. Go's decoders ignore case, and some fold ſ to s and the Kelvin
 * sign to k. Protobuf's JSON (https://protobuf.dev/programming-guides/json) and .NET accept `maxTokens` for
 * `max_tokens`. C strings end at a zero byte. Some decoders drop characters that names can't have, or bytes that are
 * not UTF-8.
 */
export function plainName(key: string): string {
  const end = key.indexOf('\0');
  // Upper case comes first: it turns ſ into S and the Kelvin sign into K.
  return (end < 0 ? key : key.slice(0, end)).toUpperCase().toLowerCase().replace(UNNAMED, '');
}

const UNNAMED = /[^a-z\d]+/g;
