import { bytesAt } from '../../json/bytes-at.ts';
import type { WireRequest } from './wire-request.ts';

/** In the names of types, MIME types and fields that audio comes with. Video has sound. */
const WORDS = ['audio', 'video'].map((word) => Buffer.from(word));
/** What stands before the word at the beginning of such a name. */
const PREFIXES = ['"', '"input_', '"output_', '"data:'].map((prefix) => Buffer.from(prefix));
/** The fields that ask for audio as output, or pass on fields that gw doesn't know. */
const OUTPUT_FIELD = /modalit|audio|extra_body|config/i;

/** Models whose input or output is audio by their nature. */
const AUDIO_MODEL = /\b(?:audio|live|omni|realtime|speech|transcribe|tts|voice|voxtral|whisper)\b/i;

/** Whether a request may have audio in its input or ask for it in its output. What can't be ruled out may be. */
export function audioIn(
  { bytes, members, nonText }: Pick<WireRequest, 'bytes' | 'members' | 'nonText'>,
  model: string,
): { audioInput: boolean; audioOutput: boolean } {
  if (AUDIO_MODEL.test(model)) return { audioInput: true, audioOutput: true };
  // The contents of files, addresses and stored conversations are unknown.
  const isUnseen = nonText.context || nonText.images > 0;
  return {
    audioInput: isUnseen || WORDS.some((word) => beginsName(bytes, word)),
    audioOutput: nonText.context || members.some(({ key }) => OUTPUT_FIELD.test(key)),
  };
}

/** Whether a string begins with the word or a prefix of it. Inside a string the quotation mark would be escaped. */
function beginsName(bytes: Buffer, word: Buffer): boolean {
  for (let at = bytes.indexOf(word); at >= 0; at = bytes.indexOf(word, at + word.length)) {
    const isName = PREFIXES.some((prefix) => {
      const start = at - prefix.length;
      return bytesAt(bytes, start, prefix) && !isEscaped(bytes, start);
    });
    if (isName) return true;
  }
  return false;
}

const BACKSLASH = 0x5c;

/** Whether an odd number of backslashes stands before a byte. */
function isEscaped(bytes: Buffer, at: number): boolean {
  let slashes = 0;
  while (bytes[at - 1 - slashes] === BACKSLASH) slashes++;
  return slashes % 2 === 1;
}
