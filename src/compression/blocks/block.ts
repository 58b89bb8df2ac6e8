/**
 * A part of a text. `words` are the author's own and stay as they are; `data` is pasted or returned by a tool;
 * `code` is source, with its language and path if stated.
 */
export interface Block {
  kind: 'words' | 'data' | 'code';
  text: string;
  language?: string;
  path?: string;
  fenced?: boolean;
}
