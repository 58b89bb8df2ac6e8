const BACKSLASH = 0x5c;
const LETTER_U = 0x75;
const DIGIT_4 = 0x34;
const DIGIT_7 = 0x37;

/** Whether a JSON string contains escaped ASCII letters. No encoder escapes them, so the string may hide a keyword. */
export function hasEscapedLetters(bytes: Buffer, start: number, end: number): boolean {
  for (let at = start; at < end - 6; at++) {
    if (bytes[at] !== BACKSLASH) continue;
    const high = bytes[at + 4] ?? 0;
    if (bytes[at + 1] === LETTER_U && high >= DIGIT_4 && high <= DIGIT_7) return true;
    at++;
  }
  return false;
}
