/** So many keys of an object are compared one by one, which is the fastest way for most. */
const FEW = 16;
/** More keys than these in one object count as found, as each takes longer to compare. */
const MANY = 1_000;
const MAX_DEPTH = 258;
/** So many keys with letters that fold to others are decoded; they are in no API. */
const MAX_DECODED = 1_000;

/** V8 keeps larger numbers apart from a set. */
const SMALL_INTEGER = 0x3fffffff;

/** Bytes as small letters, and 1 for what no API has in a key. */
const SMALL = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte >= 0x41 && byte <= 0x5a ? byte + 0x20 : byte,
);
const UNUSUAL = Uint8Array.from({ length: 256 }, (_, byte) =>
  Number(!/[a-z\d_]/.test(String.fromCharCode(byte))),
);

/** How many keys the open object at a depth has so far, and their hashes. Scans are not re-entrant. */
const counts = new Int32Array(MAX_DEPTH);
const hashes = new Int32Array(MAX_DEPTH * FEW);
const others: (Set<number> | undefined)[] = [];

/**
 * Watches the keys of objects while they are scanned: whether one may have a key twice, or one that decoders which ignore
 * case take for a known name. A quick check that may find more than there is, but never less in valid UTF-8.
 */
export class KeyWatch {
  /** What was found so far. */
  found: boolean;
  readonly #known: ReadonlySet<number>;
  #decoded = 0;

  /** `known`: the hashes of names. `found`: what an earlier scan of the same bytes has found. */
  constructor(known: ReadonlySet<number>, found = false) {
    this.#known = known;
    this.found = found;
  }

  /** An object begins. */
  open(depth: number): void {
    if ((counts[depth] as number) > FEW) others[depth] = undefined;
    counts[depth] = 0;
  }

  /** The key of an object, with its quotes. */
  see(bytes: Buffer, start: number, end: number, depth: number): void {
    if (this.found) return;
    let hash = 0;
    let unusual = 0;
    let folds = false;
    for (let at = start + 1; at < end - 1; at++) {
      const byte = bytes[at] as number;
      hash = (Math.imul(hash, 31) + (SMALL[byte] as number)) & SMALL_INTEGER;
      unusual |= UNUSUAL[byte] as number;
      if (byte >= 0x80 || byte === BACKSLASH) folds ||= mayFold(bytes, at);
    }
    if (folds) {
      if (++this.#decoded > MAX_DECODED) this.found = true;
      hash = hashOf(foldKey(bytes.toString('utf8', start + 1, end - 1)));
    }
    if ((unusual === 1 && this.#known.has(hash)) || isTwice(hash, depth)) this.found = true;
  }
}

/** Whether the open object at a depth has a key of this hash; it has from now on. */
function isTwice(hash: number, depth: number): boolean {
  const count = counts[depth] as number;
  const base = depth * FEW;
  counts[depth] = count + 1;
  const few = Math.min(count, FEW);
  for (let i = 0; i < few; i++) if (hashes[base + i] === hash) return true;
  if (count < FEW) {
    hashes[base + count] = hash;
    return false;
  }
  if (count > MANY) return true;
  const more = count === FEW ? new Set<number>() : (others[depth] ?? new Set());
  others[depth] = more;
  if (more.has(hash)) return true;
  more.add(hash);
  return false;
}

const BACKSLASH = 0x5c;

/** Whether ſ or the Kelvin sign, which fold to `s` and `k`, begins at a byte, as itself or as an escape. */
function mayFold(bytes: Buffer, at: number): boolean {
  const byte = bytes[at];
  if (byte === 0xc5) return bytes[at + 1] === 0xbf;
  if (byte === 0xe2) return bytes[at + 1] === 0x84 && bytes[at + 2] === 0xaa;
  return byte === BACKSLASH && /^\\u(?:017f|212a)/i.test(bytes.toString('latin1', at, at + 6));
}

/** A key, perhaps with escapes of folding letters, as decoders that ignore case compare it. */
export function foldKey(key: string): string {
  const plain = key.replace(/\\u017f/gi, 's').replace(/\\u212a/gi, 'k');
  // Upper case first, which turns ſ into S and the Kelvin sign into K. Some decoders drop bytes that are not UTF-8.
  return plain.replaceAll('\ufffd', '').toUpperCase().toLowerCase();
}

/** The hash of a name in small letters. */
export function hashOf(name: string): number {
  let hash = 0;
  for (const byte of Buffer.from(name)) hash = (Math.imul(hash, 31) + byte) & SMALL_INTEGER;
  return hash;
}
