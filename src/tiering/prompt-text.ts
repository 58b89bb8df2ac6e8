/** A chat message, as far as scoring reads it. */
export interface ScoredMessage {
  role: string;
  content?: unknown;
}

/** The text that decides: the last user turn, its text parts joined. */
export function promptText(messages: readonly ScoredMessage[]): string {
  for (let i = messages.length - 1; i >= 0; i--) {
    const message = messages[i];
    if (message?.role === 'user') return textOf(message.content);
  }
  return '';
}

/** The text of a message's content, whether a string or a list of parts. */
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
