import { BACKSLASH } from './bytes.ts';

/** Up to this many keys of an object are compared one by one, which is fastest for most objects. */
const FEW = 16;
/** Objects with more keys count as suspicious, because every further key takes longer to compare. */
const MANY = 1_000;
const MAX_DEPTH = 258;
/** Limit on decoded keys, which contain letters that fold to ASCII. No API has such keys. */
const MAX_DECODED = 1_000;

/** V8 stores larger numbers in a set as heap objects. */
const SMALL_INTEGER = 0x3fffffff;

/** Lower case of each byte. */
const SMALL = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte >= 0x41 && byte <= 0x5a ? byte + 0x20 : byte,
);
const UNUSUAL = Uint8Array.from({ length: 256 }, (_, byte) =>
  Number(!/[a-z\d_]/.test(String.fromCharCode(byte))),
);

/** Number and hashes of the keys so far, by depth of the open object. Scans are not re-entrant. */
const counts = new Int32Array(MAX_DEPTH);
const hashes = new Int32Array(MAX_DEPTH * FEW);
const others: (Set<number> | undefined)[] = [];

/**
 * Watches object keys during a scan for duplicates, and for keys that a case-insensitive decoder would take for a known
 * name. May report false positives. Misses nothing in valid UTF-8.
 */
export class KeyWatch {
  /** Whether a duplicate or an ambiguous key may exist. */
  found: boolean;
  readonly #known: ReadonlySet<number>;
  #decoded = 0;

  /** `known`: hashes of the known names. `found`: result of an earlier scan of the same bytes. */
  constructor(known: ReadonlySet<number>, found = false) {
    this.#known = known;
    this.found = found;
  }

  /** Starts an object. */
  open(depth: number): void {
    if ((counts[depth] as number) > FEW) others[depth] = undefined;
    counts[depth] = 0;
  }

  /** Checks an object's key; the range includes the quotes. */
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

/** Adds a key's hash to the open object; returns whether the object had it already. */
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

/** Whether ſ or the Kelvin sign begins at `at`, raw or escaped. They fold to `s` and `k`. */
function mayFold(bytes: Buffer, at: number): boolean {
  const byte = bytes[at];
  if (byte === 0xc5) return bytes[at + 1] === 0xbf;
  if (byte === 0xe2) return bytes[at + 1] === 0x84 && bytes[at + 2] === 0xaa;
  return byte === BACKSLASH && /^\\u(?:017f|212a)/i.test(bytes.toString('latin1', at, at + 6));
}

/** The key as case-insensitive decoders compare it. Escapes of folding letters are decoded. */
export function foldKey(key: string): string {
  const plain = key.replace(/\\u017f/gi, 's').replace(/\\u212a/gi, 'k');
  // Upper case comes first: it turns ſ into S and the Kelvin sign into K. Some decoders drop bytes that are not UTF-8.
  return plain.replaceAll('\ufffd', '').toUpperCase().toLowerCase();
}

/** The hash of a lower-case name. */
export function hashOf(name: string): number {
  let hash = 0;
  for (const byte of Buffer.from(name)) hash = (Math.imul(hash, 31) + byte) & SMALL_INTEGER;
  return hash;
}
