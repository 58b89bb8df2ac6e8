import { estimateTokens } from '../../compression/prompt/estimate.ts';
import { roleOf, textsOf } from '../../compression/prompt/message.ts';
import { type Form, readItem } from '../../compression/turns/turns.ts';
import { messageOf } from '../../errors.ts';
import { isObject } from '../../json/object.ts';
import type { RequestBodiesView } from '../../operations/schemas/bodies.ts';
import { count, plural } from '../../terminal/numbers.ts';
import type { Terminal } from '../../terminal/terminal.ts';
import { clean, shorten, wrap } from '../../terminal/text.ts';
import { CliError, EXIT } from '../exit.ts';
import type { JsonObject } from '../input/jsonl.ts';
import { type MessageOutcome, outcomeDiff } from '../optimize/outcome.ts';

/** A field of the body that gw set, changed or removed besides the optimizer; undefined if it is missing. */
interface FieldChange {
  name: string;
  before: unknown;
  after: unknown;
}

/** Changes that gw made to a request. */
interface BodyChanges {
  /** The messages that the optimizer changed. Tokens are estimates. */
  messages: MessageOutcome[];
  /** How many messages the request has. */
  messageCount: number;
  /** Empty if the request was translated. */
  fields: FieldChange[];
  isTranslated: boolean;
}

/** Compares the body that the client sent with those that gw made of it. */
export function compareBodies(bodies: RequestBodiesView): BodyChanges {
  const { endpoint, sent_endpoint } = bodies;
  const [client, optimized] = [objectIn(bodies, bodies.client), objectIn(bodies, bodies.optimized)];
  const form = FORMS[endpoint] ?? 'chat';
  const isTranslated = sent_endpoint !== endpoint;
  const before = messagesOf(client, form);
  return {
    messages: changedMessages(before, messagesOf(optimized, form)),
    messageCount: before.length,
    fields: isTranslated ? [] : changedFields(optimized, objectIn(bodies, bodies.sent)),
    isTranslated,
  };
}

const FORMS: Readonly<Record<string, Form>> = {
  messages: 'messages',
  responses: 'responses',
  'responses/compact': 'responses',
  gemini: 'gemini',
};

type IndexedMessage = [index: number, message: ReturnType<typeof readItem>[number]['message']];

function messagesOf(body: JsonObject, form: Form): IndexedMessage[] {
  const list = form === 'gemini' ? body.contents : form === 'responses' ? body.input : body.messages;
  return (Array.isArray(list) ? list : []).flatMap((item, index) =>
    readItem(item, form).map(({ message }): IndexedMessage => [index, message]),
  );
}

/** The optimizer edits texts only, so both have the same messages. */
function changedMessages(before: IndexedMessage[], after: IndexedMessage[]): MessageOutcome[] {
  return before.flatMap(([index, message], i) => {
    const texts = [message, after[i]?.[1] ?? message].map((each) => textsOf(each).join('\n'));
    const [old = '', fresh = ''] = texts;
    if (old === fresh) return [];
    return {
      index,
      role: roleOf(message),
      transforms: [],
      before: old,
      after: fresh,
      tokensBefore: estimateTokens(old),
      tokensAfter: estimateTokens(fresh),
    };
  });
}

function changedFields(before: JsonObject, after: JsonObject): FieldChange[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  return names
    .map((name) => ({ name, before: before[name], after: after[name] }))
    .filter((each) => JSON.stringify(each.before) !== JSON.stringify(each.after));
}

/** Parses a body. Throws CliError if it isn't JSON: gw passes it on, and the provider refuses it. */
function objectIn({ id }: RequestBodiesView, text: string): JsonObject {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : {};
  } catch (error) {
    throw new CliError(
      `the bodies of ${id} can't be compared, because one is not valid JSON: ${clean(messageOf(error))}. As they are: GET /v1/gw/requests/${id}/bodies`,
      EXIT.failure,
    );
  }
}

/** The changes as a diff of the messages and a line for each other field. */
export function diffText(bodies: RequestBodiesView, changes: BodyChanges, terminal: Terminal): string {
  const { palette, columns } = terminal;
  const { messages, messageCount, fields, isTranslated } = changes;
  const translated = `Then gw translated it for the provider, from ${bodies.endpoint} to ${bodies.sent_endpoint}.`;
  return [
    palette.bold(clean(`Request ${bodies.id}: what gw changed`)),
    outcomeDiff(changes, terminal, titleOf),
    '',
    ...wrap(
      `The optimizer changed ${count(messages.length)} of ${plural(messageCount, 'message')} and saved about ${plural(savedTokens(messages), 'token')}.`,
      columns,
    ),
    ...fields.map((field) => fieldLine(field, terminal)),
    ...(isTranslated ? wrap(translated, columns) : []),
  ].join('\n');
}

export function diffJson(bodies: RequestBodiesView, changes: BodyChanges): Record<string, unknown> {
  const { messages, fields } = changes;
  return {
    object: 'request.diff',
    id: bodies.id,
    kept_until: bodies.kept_until,
    endpoint: bodies.endpoint,
    sent_endpoint: bodies.sent_endpoint,
    saved_tokens: savedTokens(messages),
    messages: messages.map(({ index, role, tokensBefore, tokensAfter, before, after }) => ({
      index,
      role,
      tokens_before: tokensBefore,
      tokens_after: tokensAfter,
      before,
      after,
    })),
    fields: fields.map(({ name, before = null, after = null }) => ({ name, before, after })),
  };
}

const titleOf = ({ index, role, tokensBefore, tokensAfter }: MessageOutcome) =>
  `${index} ${role}: about ${count(tokensBefore)} tokens before, ${count(tokensAfter)} after`;

const savedTokens = (messages: readonly MessageOutcome[]) =>
  messages.reduce((sum, { tokensBefore, tokensAfter }) => sum + tokensBefore - tokensAfter, 0);

function fieldLine({ name, before, after }: FieldChange, { columns, symbols }: Terminal): string {
  if (name === 'messages' || name === 'input')
    return `gw also edited ${name} for the provider: --json has both.`;
  const [old, fresh] = [before, after].map((value) => JSON.stringify(value));
  const text =
    old === undefined
      ? `gw also set ${name} to ${fresh}`
      : fresh === undefined
        ? `gw also removed ${name}, which was ${old}`
        : `gw also changed ${name} from ${old} to ${fresh}`;
  return shorten(clean(text), columns, symbols.ellipsis);
}
