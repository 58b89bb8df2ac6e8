import type { ChatRequest, Message } from './request.ts';

/**
 * The sandbox's token count can be checked by hand: four UTF-8 bytes are a token, rounded up per text. A message counts
 * its text plus 4 tokens. Tools, tool calls and non-text parts count as JSON. A prompt never has more tokens than its
 * request has bytes, so gw's hold always covers it.
 */
const BYTES_PER_TOKEN = 4;
const TOKENS_PER_MESSAGE = 4;

export const countText = (text: string): number => Math.ceil(Buffer.byteLength(text) / BYTES_PER_TOKEN);

export function countPrompt({ messages, tools }: ChatRequest): number {
  const counts = messages.map((message) => TOKENS_PER_MESSAGE + countMessage(message));
  return counts.reduce((sum, count) => sum + count, countJson(tools));
}

function countMessage({ content, tool_calls }: Message): number {
  if (typeof content === 'string') return countText(content) + countJson(tool_calls);
  const counts = (content ?? []).map((part) =>
    part.text === undefined ? countJson(part) : countText(part.text),
  );
  return counts.reduce((sum, count) => sum + count, countJson(tool_calls));
}

function countJson(value: object | null | undefined): number {
  return value == null ? 0 : countText(JSON.stringify(value));
}

/** The longest prefix of a text that has at most `tokens` tokens and ends with a whole character. */
export function firstTokens(text: string, tokens: number): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= tokens * BYTES_PER_TOKEN) return text;
  let end = tokens * BYTES_PER_TOKEN;
  // Bytes 10xxxxxx continue a character. The cut moves before the character that it would split.
  while (((bytes[end] ?? 0) & 0xc0) === 0x80) end--;
  return bytes.toString('utf8', 0, end);
}
