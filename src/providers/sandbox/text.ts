import { createHash } from 'node:crypto';
import type { Message } from './request.ts';

/** Length of the quoted user message, in characters. */
const QUOTED = 60;

const OPENING = "This is gw's sandbox: no model was asked, and nothing left this machine.";

const SENTENCES = [
  'This request was admitted, metered and recorded like any other; `gw usage` shows what it cost.',
  '`gw requests` lists it with its tokens, its timings and how it ended.',
  'After `gw budget set 5 --period monthly` no month of this project can cost more than five dollars.',
  'A request that a budget has no room for is answered with status 402 before anything is sent.',
  '`gw providers add openai` puts a real model behind the same base URL and key.',
  'Ask for "stream": true and this text comes word by word, as it would from a model.',
  'The model `sandbox/error-429` shows how your program takes a rate limit.',
  'The model `sandbox/cut` breaks off in the middle, as networks do.',
  'The model `sandbox/free` costs nothing, so that it passes even an exhausted budget.',
  'Four bytes of text count as one token here, so that you can check the bill by hand.',
  'The same messages always get the same answer, which makes the sandbox good company for tests.',
  'Each project has its own keys, budgets and usage; `gw projects add` makes one.',
  '`gw run -- CMD` gives a single command the base URL and a key, and nothing else on your machine.',
  'Prices are in `gw models`; one that is missing or wrong is put right with `gw prices set`.',
];

/** An answer that quotes the user, then adds sentences chosen by a hash of the messages and `variant`. */
export function answerText(messages: Message[], sentences: number, variant: number): string {
  const start = seedOf(messages, variant);
  const text = Array.from({ length: sentences }, (_, step) => SENTENCES[(start + step) % SENTENCES.length]);
  return [OPENING, `You said: “${quoteUser(messages)}”.`, ...text].join(' ');
}

function seedOf(messages: Message[], variant: number): number {
  return createHash('sha256')
    .update(`${variant}${JSON.stringify(messages)}`)
    .digest()
    .readUInt32BE();
}

/** The beginning of the last user message. */
export function quoteUser(messages: Message[]): string {
  const content = messages.findLast((message) => message.role === 'user')?.content;
  const text = typeof content === 'string' ? content : content?.map((part) => part.text ?? '').join(' ');
  const characters = Array.from(
    (text ?? '')
      .slice(0, 10 * QUOTED)
      .replace(/\s+/g, ' ')
      .trim(),
  );
  const more = characters.length > QUOTED ? '…' : '';
  return characters.slice(0, QUOTED).join('') + more;
}

/** The words of a text, each with its leading whitespace. Joined, they equal the text. */
export const wordsOf = (text: string): string[] => (text === '' ? [] : text.split(/(?<=\S)(?=\s)/));
