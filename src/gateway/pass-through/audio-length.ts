/**
 * The length of a recording in seconds, by the headers of its own format. Undefined for other formats, and for files that
 * end before their headers do.
 */
export function audioSeconds(bytes: Buffer): number | undefined {
  const seconds = readers.map((read) => read(bytes)).find((found) => found !== undefined);
  return seconds !== undefined && Number.isFinite(seconds) && seconds > 0 ? seconds : undefined;
}

const isAt = (bytes: Buffer, at: number, text: string): boolean =>
  bytes.toString('latin1', at, at + text.length) === text;

/** RIFF: http://soundfile.sapp.org/doc/WaveFormat/. The bytes that are there count, whatever the header says of them. */
function wavSeconds(bytes: Buffer): number | undefined {
  if (!isAt(bytes, 0, 'RIFF') || !isAt(bytes, 8, 'WAVE')) return undefined;
  for (let at = 12, rate = 0; at + 8 <= bytes.length; ) {
    const size = bytes.readUInt32LE(at + 4);
    if (isAt(bytes, at, 'fmt ') && at + 24 <= bytes.length)
      rate = bytes.readUInt32LE(at + 12) * bytes.readUInt16LE(at + 20);
    if (isAt(bytes, at, 'data')) return rate === 0 ? undefined : (bytes.length - at - 8) / rate;
    at += 8 + size + (size % 2);
  }
  return undefined;
}

/** kbit/s of MPEG 1 and of MPEG 2 and 2.5, layer III. */
const RATES_1 = [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320];
const RATES_2 = [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160];
const SAMPLE_RATES = [44_100, 48_000, 32_000];

/** Adds up the frames: http://www.mp3-tech.org/programmer/frame_header.html */
function mp3Seconds(bytes: Buffer): number | undefined {
  let at = isAt(bytes, 0, 'ID3') && bytes.length > 10 ? 10 + syncSafe(bytes, 6) : 0;
  let seconds = 0;
  for (let frame = mp3Frame(bytes, at); frame; frame = mp3Frame(bytes, at)) {
    seconds += frame.seconds;
    at += frame.length;
  }
  const tail = bytes.length - at;
  // Behind the last frame, an old tag may follow, or a frame in part. Anything else may hide more sound.
  return seconds > 0 && (tail < MAX_FRAME_BYTES || isAt(bytes, at, 'APETAGEX')) ? seconds : undefined;
}

const MAX_FRAME_BYTES = 1_500;

function syncSafe(bytes: Buffer, at: number): number {
  return [0, 1, 2, 3].reduce((sum, i) => sum * 128 + ((bytes[at + i] ?? 0) & 0x7f), 0);
}

function mp3Frame(bytes: Buffer, at: number): { seconds: number; length: number } | undefined {
  if (at + 4 > bytes.length) return undefined;
  const header = bytes.readUInt32BE(at);
  const version = (header >> 19) & 3;
  if (header >>> 21 !== 0x7ff || version === 1 || ((header >> 17) & 3) !== 1) return undefined;
  const isFirst = version === 3;
  const kbits = (isFirst ? RATES_1 : RATES_2)[(header >> 12) & 15];
  const listed = SAMPLE_RATES[(header >> 10) & 3];
  if (!kbits || !listed) return undefined;
  const rate = isFirst ? listed : listed / (version === 2 ? 2 : 4);
  const samples = isFirst ? 1_152 : 576;
  const length = Math.floor((samples * kbits * 125) / rate) + ((header >> 9) & 1);
  return { seconds: samples / rate, length };
}

/** STREAMINFO: https://www.rfc-editor.org/rfc/rfc9639#section-8.2 */
function flacSeconds(bytes: Buffer): number | undefined {
  if (!isAt(bytes, 0, 'fLaC') || bytes.length < 26) return undefined;
  const rate = bytes.readUIntBE(18, 3) >> 4;
  const samples = (bytes.readUInt8(21) & 15) * 2 ** 32 + bytes.readUInt32BE(22);
  return rate === 0 ? undefined : samples / rate;
}

const LAST_PAGE_FLAG = 4;
const OPUS_RATE = 48_000;

/** Adds up what each stream's last page says: https://www.rfc-editor.org/rfc/rfc3533#section-6 */
function oggSeconds(bytes: Buffer): number | undefined {
  let seconds = 0;
  let rate = 0;
  let granule = 0;
  let at = 0;
  while (isAt(bytes, at, 'OggS') && at + 27 <= bytes.length) {
    const segments = bytes.readUInt8(at + 26);
    const start = at + 27 + segments;
    if (isAt(bytes, start, 'OpusHead')) rate = OPUS_RATE;
    else if (isAt(bytes, start + 1, 'vorbis') && bytes[start] === 1 && start + 16 <= bytes.length)
      rate = bytes.readUInt32LE(start + 12);
    // A page on which no packet ends has -1.
    if (bytes.readInt32LE(at + 10) >= 0) granule = Math.max(granule, Number(bytes.readBigUInt64LE(at + 6)));
    if ((bytes.readUInt8(at + 5) & LAST_PAGE_FLAG) !== 0) {
      seconds += granule / rate;
      granule = 0;
    }
    at = start;
    for (let i = 0; i < segments; i++) at += bytes[start - segments + i] ?? 0;
  }
  return rate === 0 || at < bytes.length ? undefined : seconds + granule / rate;
}

/** The movie header: ISO/IEC 14496-12, 8.2.2 */
function mp4Seconds(bytes: Buffer): number | undefined {
  const movie = isAt(bytes, 4, 'ftyp') ? boxIn(bytes, 'moov') : undefined;
  const header = movie && boxIn(movie, 'mvhd');
  if (!header || header.length < 32) return undefined;
  const isLong = header[0] === 1;
  const scale = header.readUInt32BE(isLong ? 20 : 12);
  const duration = isLong ? Number(header.readBigUInt64BE(24)) : header.readUInt32BE(16);
  return scale === 0 ? undefined : duration / scale;
}

function boxIn(bytes: Buffer, name: string): Buffer | undefined {
  for (let at = 0; at + 8 <= bytes.length; ) {
    const short = bytes.readUInt32BE(at);
    const isLong = short === 1 && at + 16 <= bytes.length;
    const size = isLong ? Number(bytes.readBigUInt64BE(at + 8)) : short === 0 ? bytes.length - at : short;
    if (size < 8) return undefined;
    if (isAt(bytes, at + 4, name)) return bytes.subarray(at + (isLong ? 16 : 8), at + size);
    at += size;
  }
  return undefined;
}

/** Elements of WebM, with the marker of their length: https://www.rfc-editor.org/rfc/rfc9559#section-5 */
const WEBM = {
  ebml: 0x1a45dfa3,
  segment: 0x18538067,
  info: 0x1549a966,
  timestampScale: 0x2ad7b1,
  duration: 0x4489,
  cluster: 0x1f43b675,
  clusterTimestamp: 0xe7,
  simpleBlock: 0xa3,
  blockGroup: 0xa0,
  block: 0xa1,
};
const ENTERED = new Set([WEBM.segment, WEBM.info, WEBM.cluster, WEBM.blockGroup]);
/** A block has several packets; their number is in the byte that follows, less one. */
const LACING = 6;
/** The least and the most that an Opus packet plays: https://www.rfc-editor.org/rfc/rfc6716#section-2.1.4, RFC 7587, 4.2 */
const LEAST_PACKET_SECONDS = 0.0025;
const PACKET_SECONDS = 0.12;

/**
 * What the header says. Recorders say nothing, and Chromium's says when the last block begins: then the end of that block
 * counts, as it does where the header says less than there is.
 */
function webmSeconds(bytes: Buffer): number | undefined {
  let scale = 1_000_000;
  let duration = 0;
  let cluster = 0;
  let last = 0;
  let end = 0;
  let at = 0;
  while (at < bytes.length) {
    const id = variableInteger(bytes, at, false);
    const size = id && variableInteger(bytes, at + id.length, true);
    if (!id || !size || (at === 0) !== (id.value === WEBM.ebml)) return undefined;
    const start = at + id.length + size.length;
    const isEntered = ENTERED.has(id.value);
    // Of those that may go on to an end that nobody says, the parts are read one by one.
    if (!isEntered && !Number.isFinite(size.value)) return undefined;
    const part = bytes.subarray(start, start + size.value);
    if (id.value === WEBM.timestampScale) scale = unsigned(part);
    else if (id.value === WEBM.duration) duration = part.length === 4 ? part.readFloatBE() : doubleOf(part);
    else if (id.value === WEBM.clusterTimestamp) cluster = unsigned(part);
    else if (id.value === WEBM.simpleBlock || id.value === WEBM.block) {
      const track = variableInteger(part, 0, true);
      if (!track || part.length < track.length + 4) return undefined;
      const packets = ((part[track.length + 2] ?? 0) & LACING) === 0 ? 1 : (part[track.length + 3] ?? 0) + 1;
      const begin = cluster + part.readInt16BE(track.length);
      last = Math.max(last, (begin * scale) / 1e9);
      end = Math.max(end, last + packets * PACKET_SECONDS);
    }
    at = isEntered ? start : start + size.value;
  }
  const said = (duration * scale) / 1e9;
  return said >= last + LEAST_PACKET_SECONDS ? said : end;
}

const doubleOf = (part: Buffer): number => (part.length === 8 ? part.readDoubleBE() : Number.NaN);
const unsigned = (part: Buffer): number => part.reduce((sum, byte) => sum * 256 + byte, 0);

/**
 * A number whose first byte says how long it is, with or without the bit that says so; Infinity for the size that is unknown:
 * https://www.rfc-editor.org/rfc/rfc8794#section-4
 */
function variableInteger(
  bytes: Buffer,
  at: number,
  isSize: boolean,
): { value: number; length: number } | undefined {
  const first = bytes[at] ?? 0;
  const length = Math.clz32(first) - 23;
  if (first === 0 || at + length > bytes.length) return undefined;
  const marker = 1 << (8 - length);
  const value =
    unsigned(bytes.subarray(at + 1, at + length)) + (isSize ? first - marker : first) * 256 ** (length - 1);
  return { value: isSize && value === 2 ** (7 * length) - 1 ? Infinity : value, length };
}

const readers = [wavSeconds, flacSeconds, oggSeconds, mp4Seconds, webmSeconds, mp3Seconds];
