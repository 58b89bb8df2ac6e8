import type { RequestBodiesView } from '../../reading/bodies-schema.ts';
import { count, plural } from '../../terminal/numbers.ts';
import type { Terminal } from '../../terminal/terminal.ts';
import { clean, shorten, wrap } from '../../terminal/text.ts';
import type { MessageOutcome } from '../optimize/measure.ts';
import { outcomeDiff } from '../optimize/view.ts';
import type { BodyChanges, FieldChange } from './compare-bodies.ts';

/** What gw changed in a request, as a diff of its messages and a line for each other field. */
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
