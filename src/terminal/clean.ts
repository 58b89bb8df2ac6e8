/** Control characters, and invisible characters that reorder or hide text. */
const UNSAFE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** Makes untrusted text safe to print: a single line without control characters. */
export const clean = (text: string): string => text.replace(UNSAFE, (match) => (/\s/.test(match) ? ' ' : ''));
