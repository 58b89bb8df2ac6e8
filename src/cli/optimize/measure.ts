import { compressRequest } from '../../compression/compress-request.ts';
import type { Level } from '../../compression/conversation/compress.ts';
import { Conversation, type Step } from '../../compression/conversation/conversation.ts';
import { estimateTokens } from '../../compression/prompt/estimate.ts';
import { roleOf, textsOf } from '../../compression/prompt/message.ts';
import { readItem } from '../../compression/turns/turns.ts';
import { applyEdits, moved } from '../../json/edit.ts';
import { countTokens } from '../../tokens/count.ts';
import { encodingOf } from '../../tokens/encoding.ts';
import type { RequestFile } from '../input/request-file.ts';

/** Effect of compression on one message, or on one tool result of a message that has several. */
export interface MessageOutcome {
  /** Position of the message in the request. */
  index: number;
  role: string;
  transforms: string[];
  before: string;
  after: string;
  tokensBefore: number;
  tokensAfter: number;
}

/** Effect of compression on a request. Counts only the texts of messages. */
export interface Outcome {
  level: Level;
  messages: MessageOutcome[];
  tokensBefore: number;
  tokensAfter: number;
  /** Whether tokens are counted with the model's encoding; otherwise they are estimates. */
  exact: boolean;
  /** The compressed request. Everything unchanged keeps its bytes. */
  body: Buffer;
}

export function measure(
  request: RequestFile,
  { level, model }: { level: Level; model: string | undefined },
): Outcome {
  const { form, start } = request;
  const encoding = model === undefined ? undefined : encodingOf(model);
  const count = (text: string) => (encoding ? countTokens(text, encoding) : estimateTokens(text));
  const conversation = new Conversation(level);
  const outcomes = request.messages.flatMap((item, index) =>
    readItem(item, form).map(({ message }) => outcomeOf(index, conversation.add(message), count)),
  );
  const sum = (field: 'tokensBefore' | 'tokensAfter') =>
    outcomes.reduce((total, each) => total + each[field], 0);
  const bytes = request.bytes.subarray(start, request.end);
  const edits = compressRequest({ bytes, form, level }).edits.map((edit) => moved(edit, start));
  return {
    level,
    messages: outcomes,
    tokensBefore: sum('tokensBefore'),
    tokensAfter: sum('tokensAfter'),
    exact: encoding !== undefined,
    body: applyEdits(request.bytes, edits),
  };
}

function outcomeOf(
  index: number,
  { message, output, report }: Step,
  count: (text: string) => number,
): MessageOutcome {
  const [before, after] = [textsOf(message).join('\n'), textsOf(output).join('\n')];
  const tokensBefore = count(before);
  return {
    index,
    role: roleOf(message),
    transforms: report.transforms,
    before,
    after,
    tokensBefore,
    tokensAfter: after === before ? tokensBefore : count(after),
  };
}
