/**
 * Whose text is it? `words` are the writer's own and stay; `data` is pasted or returned by a tool;
 * `code` is source, with its language and path where they are told.
 */
export interface Block {
  kind: 'words' | 'data' | 'code';
  text: string;
  language?: string;
  path?: string;
  fenced?: boolean;
}
