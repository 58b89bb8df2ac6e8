import { type PriorScore, priorScore } from './prior.ts';
import { type Scan, scan } from './scan.ts';

/** A chat message, as far as scoring reads it. */
export interface ScoredMessage {
  role: string;
  content?: unknown;
}

/** A prompt that has been scanned once, for all scorers. */
export interface Prompt {
  text: string;
  counts: Scan;
  prior: PriorScore;
}

/** Scans the last user turn of a conversation. */
export function readPrompt(messages: readonly ScoredMessage[]): Prompt {
  const text = promptText(messages);
  const counts = scan(text);
  return { text, counts, prior: priorScore(counts) };
}

/** The text that is scored: the text parts of the last user turn, joined. */
export function promptText(messages: readonly ScoredMessage[]): string {
  for (let i = messages.length - 1; i >= 0; i--) {
    const message = messages[i];
    if (message?.role === 'user') return textOf(message.content);
  }
  return '';
}

/** The text of a message's content, which is a string or a list of parts. */
export function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content.map(textOfPart).filter(Boolean).join('\n');
}

function textOfPart(part: unknown): string {
  if (typeof part === 'string') return part;
  if (typeof part !== 'object' || part === null || !('text' in part)) return '';
  return typeof part.text === 'string' ? part.text : '';
}
