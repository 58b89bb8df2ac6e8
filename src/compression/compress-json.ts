import { compress, type Level, type Message } from './compress.ts';

/** What compressing a request's messages changed. */
export interface CompressedJson {
  /** The new JSON of each message that changed, by its index. */
  changed: { index: number; json: string }[];
  /** An estimate. */
  savedTokens: number;
}

/** Compresses the JSON text of an array of messages. Throws where it is none; whoever calls sends the original then. */
export function compressJson(json: string, level: Level): CompressedJson {
  const messages = JSON.parse(json) as Message[];
  const { messages: out, report } = compress(messages, { level });
  const changed = out.flatMap((message, index) =>
    message === messages[index] ? [] : [{ index, json: JSON.stringify(message) }],
  );
  return {
    changed,
    savedTokens: report.reduce((sum, each) => sum + each.tokensBefore - each.tokensAfter, 0),
  };
}
