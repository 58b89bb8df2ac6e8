import { compress, type Level, type Message } from '../../compression/compress.ts';
import { estimateTokens } from '../../compression/estimate.ts';
import { roleOf, textsOf } from '../../compression/message.ts';
import { applyEdits } from '../../json/edit.ts';
import { scanArray } from '../../json/scan.ts';
import { countTokens } from '../../tokens/count.ts';
import { encodingOf } from '../../tokens/encoding.ts';
import type { RequestFile } from '../request-file.ts';

/** What compressing did to one message. */
export interface MessageOutcome {
  role: string;
  transforms: string[];
  before: string;
  after: string;
  tokensBefore: number;
  tokensAfter: number;
}

/** What compressing did to a request. Only the texts of messages are counted. */
export interface Outcome {
  level: Level;
  messages: MessageOutcome[];
  tokensBefore: number;
  tokensAfter: number;
  /** Whether tokens are counted as the model counts them; else they are estimates. */
  exact: boolean;
  /** The compressed request; what did not change is byte for byte as it came. */
  body: Buffer;
}

export function measure(
  request: RequestFile,
  { level, model }: { level: Level; model: string | undefined },
): Outcome {
  const { messages, report } = compress(request.messages, { level });
  const encoding = model === undefined ? undefined : encodingOf(model);
  const count = (text: string) => (encoding ? countTokens(text, encoding) : estimateTokens(text));
  const outcomes = request.messages.map((message, index) => {
    const [before, after] = [message, messages[index] ?? message].map((each) => textsOf(each).join('\n'));
    return outcomeOf(message, report[index]?.transforms ?? [], {
      before: before ?? '',
      after: after ?? '',
      count,
    });
  });
  const sum = (field: 'tokensBefore' | 'tokensAfter') =>
    outcomes.reduce((total, each) => total + each[field], 0);
  return {
    level,
    messages: outcomes,
    tokensBefore: sum('tokensBefore'),
    tokensAfter: sum('tokensAfter'),
    exact: encoding !== undefined,
    body: bodyWith(request, messages),
  };
}

function outcomeOf(
  message: Message,
  transforms: string[],
  { before, after, count }: { before: string; after: string; count: (text: string) => number },
): MessageOutcome {
  const tokensBefore = count(before);
  const tokensAfter = after === before ? tokensBefore : count(after);
  return { role: roleOf(message), transforms, before, after, tokensBefore, tokensAfter };
}

function bodyWith(
  { bytes, messages: originals, messagesAt }: RequestFile,
  messages: readonly Message[],
): Buffer {
  const elements = scanArray(bytes, messagesAt);
  const edits = elements.flatMap((element, index) =>
    messages[index] === originals[index] ? [] : [{ ...element, text: JSON.stringify(messages[index]) }],
  );
  return applyEdits(bytes, edits);
}
