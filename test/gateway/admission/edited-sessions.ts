import fc from 'fast-check';
import {
  type Message,
  mix,
  type Part,
  type Provider,
  prefixOf,
  type Session,
  thinks,
} from './counting-provider.ts';

/** A change of a session before its next request; the numbers choose places, texts and sizes. */
export interface Step {
  edit:
    | 'take a turn'
    | 'load a tool'
    | 'say something'
    | 'insert a text'
    | 'clear a result'
    | 'remove a result'
    | 'remove a message'
    | 'remove a thought'
    | 'go back'
    | 'change a tool'
    | 'add a tool'
    | 'defer a tool'
    | 'change the system'
    | 'change an option'
    | 'toggle thinking'
    | 'begin an answer'
    | 'start anew'
    | 'repeat';
  a: number;
  b: number;
}

const EDITS: readonly Step['edit'][] = [
  'take a turn',
  'take a turn',
  'take a turn',
  'load a tool',
  'load a tool',
  'say something',
  'insert a text',
  'clear a result',
  'remove a result',
  'remove a message',
  'remove a thought',
  'go back',
  'change a tool',
  'add a tool',
  'defer a tool',
  'change the system',
  'change an option',
  'toggle thinking',
  'begin an answer',
  'start anew',
  'repeat',
];

export const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.record({ edit: fc.constantFrom(...EDITS), a: fc.nat(9_999), b: fc.nat(9_999) }),
  { minLength: 3, maxLength: 24 },
);

export const providers: fc.Arbitrary<Provider> = fc.record({
  bytesPerToken: fc.constantFrom(1, 1.5, 4),
  reasoning: fc.constantFrom(
    'since the last text of the user',
    'all',
    'on its own prefix',
    'until a final answer',
  ),
  normalizes: fc.boolean(),
  rewrites: fc.boolean(),
  trims: fc.boolean(),
});

const TEXTS = [
  (n: number) => `word${n} `.repeat(1 + (n % 300)),
  (n: number) => '漢字'.repeat(1 + (n % 90)) + n,
  (n: number) => '\ufdfa'.repeat(1 + (n % 40)) + n,
  (n: number) => `if (a${n} < b && 'c' > [1,2,3]) {}\n`.repeat(1 + (n % 60)),
  (n: number) => `${n}`.repeat(1 + (n % 200)),
  (n: number) => `done ${n}${'\n '.repeat(n % 400)}`,
  (n: number) => `<b>&${n % 10}</b>`.repeat(1 + (n % 70)),
  () => 'ok',
];

const textOf = (n: number) => TEXTS[n % TEXTS.length]?.(n) ?? '';

export function newSession(): Session {
  const tools = ['Bash', 'Read', 'Search'].map((name) => ({
    name,
    text: textOf(mix(name) % 999),
    deferred: false,
  }));
  return {
    thinking: true,
    choice: undefined,
    notice: 0,
    system: ['You are an agent.', textOf(700)],
    tools: [
      ...tools,
      { name: 'far', text: textOf(903), deferred: true },
      { name: 'off', text: textOf(297), deferred: true },
    ],
    messages: [{ role: 'user', parts: [{ is: 'text', text: textOf(140) }] }],
  };
}

/** The session after an edit. `request` counts the requests. */
export function edited(session: Session, { edit, a, b }: Step, request: number): Session {
  const next = structuredClone(session);
  next.notice = request;
  const { messages, tools } = next;
  const resultAt = messages.findIndex(
    (message, i) => i >= a % messages.length && message.parts.some(isResult),
  );
  const result = messages[resultAt];
  switch (edit) {
    case 'take a turn':
      takeTurn(next, a, b);
      break;
    case 'load a tool':
      takeTurn(next, a, b, new Array(1 + (a % 4)).fill(tools[b % tools.length]?.name ?? ''));
      break;
    case 'say something':
      messages.push({ role: 'assistant', parts: [{ is: 'text', text: textOf(a) }] }, usersText(b));
      break;
    case 'insert a text':
      messages[a % messages.length]?.parts.push({ is: 'text', text: textOf(b) });
      break;
    case 'clear a result':
      for (const part of result?.parts ?? [])
        if (part.is === 'result') part.text = '[Old tool result content cleared]';
      break;
    case 'remove a result':
      if (result && result.parts.length > 1) result.parts = result.parts.filter((part) => !isResult(part));
      break;
    case 'remove a message':
      if (messages.length > 2) messages.splice(a % (messages.length - 1), 1 + (b % 2));
      break;
    case 'remove a thought':
      for (const { parts } of messages.slice(a % messages.length, (a % messages.length) + 2)) {
        if (parts.length > 1 && parts[0]?.is === 'thought') parts.shift();
      }
      break;
    default:
      editRest(next, { edit, a, b });
  }
  if (next.messages.at(-1)?.role !== 'user' && edit !== 'begin an answer') next.messages.push(usersText(b));
  return next;
}

function editRest(next: Session, { edit, a, b }: Step): void {
  const { messages, tools, system } = next;
  const tool = tools[a % tools.length];
  switch (edit) {
    case 'go back':
      messages.splice(1 + (a % messages.length));
      break;
    case 'change a tool':
      if (tool) tool.text = textOf(b);
      break;
    case 'add a tool':
      tools.splice(a % tools.length, b % 2, { name: `tool${b % 5}`, text: textOf(a), deferred: b % 3 === 0 });
      break;
    case 'defer a tool':
      if (tool) tool.deferred = !tool.deferred;
      break;
    case 'change the system':
      // Now and then it changes back.
      system[a % system.length] = textOf(b % 3 > 0 ? 700 : b);
      break;
    case 'change an option':
      next.choice = [undefined, 'auto', 'any'][b % 3];
      break;
    case 'toggle thinking':
      next.thinking = !next.thinking;
      break;
    case 'begin an answer':
      messages.push({ role: 'assistant', parts: [{ is: 'text', text: textOf(a) }] });
      break;
    case 'start anew':
      next.messages = [usersText(a)];
      break;
  }
}

const isResult = ({ is }: Part) => is === 'result';
const usersText = (n: number): Message => ({ role: 'user', parts: [{ is: 'text', text: textOf(n) }] });

function takeTurn(session: Session, a: number, b: number, found?: string[]): void {
  const { messages } = session;
  const id = `call_${messages.length}_${a}`;
  const parts: Part[] = [];
  if (a % 3 > 0 && thinks(session)) {
    const text = textOf(b);
    const thought = {
      text,
      seal: `${id}${'='.repeat(b % 400)}`,
      tokens: (a * 7) % 9_000,
      prefix: prefixOf(session, messages.length),
    };
    parts.push({ is: 'thought', thought });
  }
  if (a % 2 > 0) parts.push({ is: 'text', text: textOf(a) });
  parts.push({
    is: 'call',
    id,
    input: { content: textOf(b), list: [[b, {}], ...new Array(a % 150).fill(1)] },
  });
  messages.push({ role: 'assistant', parts });
  const result: Part = found
    ? { is: 'result', id, text: '', found }
    : { is: 'result', id, text: textOf(b + 3) };
  messages.push({ role: 'user', parts: [result] });
}
