import { BACKSLASH, bytesAt } from '../../json/bytes.ts';
import type { WireRequest } from './wire-request.ts';

/** Words in the names of audio types, MIME types and fields. Video counts, because it has sound. */
const WORDS = ['audio', 'video'].map((word) => Buffer.from(word));
/** Prefixes of those words in such names. */
const PREFIXES = ['"', '"input_', '"output_', '"data:'].map((prefix) => Buffer.from(prefix));
/** Fields that request audio output, or forward fields unknown to gw. */
const OUTPUT_FIELD = /modalit|audio|extra_body|config/i;

/** Models with audio input or output. */
const AUDIO_MODEL = /\b(?:audio|live|omni|realtime|speech|transcribe|tts|voice|voxtral|whisper)\b/i;

/** Whether a request may have audio input or request audio output. True unless it can be ruled out. */
export function audioIn(
  { bytes, members, nonText }: Pick<WireRequest, 'bytes' | 'members' | 'nonText'>,
  model: string,
): { audioInput: boolean; audioOutput: boolean } {
  if (AUDIO_MODEL.test(model)) return { audioInput: true, audioOutput: true };
  // The contents of files, URLs and stored conversations are unknown.
  const isUnseen = nonText.context || nonText.images > 0;
  return {
    audioInput: isUnseen || WORDS.some((word) => beginsName(bytes, word)),
    audioOutput: nonText.context || members.some(({ key }) => OUTPUT_FIELD.test(key)),
  };
}

/** Whether a string starts with the word, perhaps after a prefix. Inside a string its quote would be escaped. */
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

/** Whether the byte at `at` follows an odd number of backslashes. */
function isEscaped(bytes: Buffer, at: number): boolean {
  let slashes = 0;
  while (bytes[at - 1 - slashes] === BACKSLASH) slashes++;
  return slashes % 2 === 1;
}
