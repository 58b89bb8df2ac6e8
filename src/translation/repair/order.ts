import type { RequestContext } from '../context.ts';
import {
  type ContentPart,
  isResult,
  isText,
  joinTurns,
  type Part,
  type ResultPart,
  type Turn,
  textPart,
  textsOf,
} from '../conversation/conversation.ts';

/** The turns in an order that the provider takes. Expects results right behind their calls. */
export function inOrder(turns: readonly Turn[], { dialect }: Pick<RequestContext, 'dialect'>): Turn[] {
  const ordered = dialect.systemFirst ? withSystemFirst(turns) : [...turns];
  if (dialect.userBehindTool !== false) return ordered;
  return joinTurns(ordered, ({ role }) => role === 'user').flatMap(withoutUserBehindTool);
}

/** System messages between turns, such as Claude Code's reminders, are something that the user says. */
function withSystemFirst(turns: readonly Turn[]): Turn[] {
  const count = turns.findIndex(({ role }) => role !== 'system');
  return turns.map((turn, i) => {
    if (turn.role !== 'system' || count < 0 || i < count) return turn;
    const text = `<system-reminder>\n${textsOf(turn.parts).join('\n\n')}\n</system-reminder>`;
    return { role: 'user', parts: [textPart(text)] };
  });
}

/** What the user says beside results is said in the last of them; images follow a word of the assistant's. */
function withoutUserBehindTool(turn: Turn): Turn[] {
  const results = turn.parts.filter(isResult);
  const last = results.at(-1);
  if (!last || results.length === turn.parts.length) return [turn];
  const others = turn.parts.filter((part): part is ContentPart => !isResult(part));
  const texts = others.filter(isText);
  const media: Part[] = others.filter((part) => !isText(part));
  const closing: ResultPart = { ...last, parts: [...last.parts, ...texts] };
  const answered: Turn = { role: 'user', parts: [...results.slice(0, -1), closing] };
  if (media.length === 0) return [answered];
  return [
    answered,
    { role: 'assistant', parts: [textPart('I see the results.')] },
    { role: 'user', parts: media },
  ];
}
