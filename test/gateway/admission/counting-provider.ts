/**
 * A model provider with a tokenizer and templates of its own, as nasty as the rules of bounds allow, and sessions that
 * are edited from request to request. Everything that it adds depends on the content alone, so that a case can be
 * repeated.
 */
export interface Thought {
  text: string;
  seal: string;
  /** What the answer was billed for it. */
  tokens: number;
  /** What the model had read before it. */
  prefix: number;
}

export type Part =
  | { is: 'text'; text: string }
  | { is: 'thought'; thought: Thought }
  | { is: 'call'; id: string; input: unknown }
  | { is: 'result'; id: string; text: string; found?: string[] };

export interface Message {
  role: 'user' | 'assistant';
  parts: Part[];
}

export interface Tool {
  name: string;
  text: string;
  deferred: boolean;
}

export interface Session {
  thinking: boolean;
  /** How the model may choose tools. */
  choice: string | undefined;
  notice: number;
  system: string[];
  tools: Tool[];
  messages: Message[];
}

/** How a provider works. */
export interface Provider {
  bytesPerToken: number;
  /** When reasoning of earlier turns is read again. */
  reasoning: 'since the last text of the user' | 'all' | 'on its own prefix' | 'until a final answer';
  normalizes: boolean;
  /** Writes tools, calls and results anew as JSON, with escapes and indents. */
  rewrites: boolean;
  trims: boolean;
}

/** A small number that depends on a text. */
export function mix(text: string): number {
  let state = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) state = Math.imul(state ^ text.charCodeAt(i), 0x01000193);
  return (state ^ (state >>> 15)) >>> 0;
}

const rewritten = (value: unknown) =>
  JSON.stringify(value, null, 1).replace(
    /[<>&'\u0080-\uffff]/g,
    (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );

const isCall = ({ is }: Part) => is === 'call';
const isResult = ({ is }: Part) => is === 'result';
const isUsers = ({ role, parts }: Message) => role === 'user' && parts.some(({ is }) => is === 'text');

/** Whether thinking is on: not where the client has begun the answer, and not inside a loop of tool calls whose turn doesn't begin with a thought. */
export function thinks({ thinking, messages }: Session): boolean {
  if (!thinking) return false;
  const last = messages.at(-1);
  if (last?.role === 'assistant') return false;
  if (!last?.parts.some(isResult)) return true;
  const user = messages.findLastIndex((message) => message.role === 'user' && !message.parts.some(isResult));
  return messages[user + 1]?.parts[0]?.is === 'thought';
}

/** What the model has read before a message, but for reasoning. */
export function prefixOf({ system, messages }: Session, end: number): number {
  const read = messages
    .slice(0, end)
    .map(({ role, parts }) => [role, parts.filter(({ is }) => is !== 'thought')]);
  return mix(JSON.stringify([system, read]));
}

function isRead(provider: Provider, session: Session, at: number, { prefix }: Thought): boolean {
  const { messages } = session;
  switch (provider.reasoning) {
    case 'since the last text of the user':
      return thinks(session) && at > messages.findLastIndex(isUsers);
    case 'all':
      return thinks(session);
    case 'on its own prefix':
      return thinks(session) && prefix === prefixOf(session, at);
    case 'until a final answer':
      return !messages.some(
        ({ role, parts }, i) =>
          i > at && role === 'assistant' && !parts.some(isCall) && parts.some(({ is }) => is === 'text'),
      );
  }
}

/** The input tokens that the provider bills. `request` counts requests: some of what is added changes daily. */
export function trueTokens(provider: Provider, session: Session, request: number): number {
  const { bytesPerToken, normalizes, rewrites } = provider;
  const bytesOf = (text: string) => Buffer.byteLength(normalizes ? text.normalize('NFKC') : text);
  const count = (text: string) => Math.ceil(bytesOf(text) / bytesPerToken);
  const json = (value: unknown) => count(rewrites ? rewritten(value) : JSON.stringify(value));
  const definition = ({ name, text }: Tool) =>
    json({ name, description: text, input_schema: { type: 'object' } }) + 8;
  const { tools, system, messages, thinking, choice } = session;
  let tokens = 3 + (mix(`${request}`) % 32);
  tokens += mix(`${thinking}`) % 400;
  if (choice !== undefined) tokens += mix(choice) % 500;
  for (const tool of tools) if (!tool.deferred) tokens += definition(tool);
  if (tools.length > 0) tokens += mix(JSON.stringify(tools)) % 2_400;
  for (const text of system) tokens += count(text) + (mix(text) % 16);
  let before: { role: string; text: string } | undefined;
  messages.forEach(({ role, parts }, i) => {
    tokens += mix(role + JSON.stringify(parts[0])) % 30;
    for (const part of parts) {
      if (part.is === 'thought') {
        if (isRead(provider, session, i, part.thought)) tokens += part.thought.tokens;
        continue;
      }
      const isLast = i === messages.length - 1 && part === parts.at(-1);
      tokens += mix(JSON.stringify(part)) % 40;
      if (part.is === 'text') tokens += count(isLast && provider.trims ? part.text.trimEnd() : part.text);
      else if (part.is === 'call') tokens += json({ name: 'Bash', input: part.input });
      else {
        tokens += rewrites ? json(part.text) : count(part.text);
        for (const name of part.found ?? []) {
          const tool = tools.find((each) => each.name === name);
          if (tool) tokens += definition(tool);
        }
      }
      // The text before a neighbour of the same role may be split into other tokens.
      if (part.is === 'text' && before?.role === role && mix(before.text + part.text) % 3 === 0)
        tokens += bytesOf(before.text) - count(before.text);
      before = part.is === 'text' ? { role, text: part.text } : undefined;
    }
  });
  return tokens;
}

/** The request as Claude Code sends it: with marks that move, and a first system block that always changes. */
export function requestOf(session: Session, model: string): object {
  const { thinking, choice, notice, system, tools, messages } = session;
  const mark = { cache_control: { type: 'ephemeral' } };
  const texts = system.map((text) => ({ type: 'text', text }));
  return {
    model,
    max_tokens: 100 + (notice % 7),
    ...(thinking ? { thinking: { type: 'adaptive' } } : {}),
    ...(choice === undefined ? {} : { tool_choice: { type: choice } }),
    metadata: { user_id: `user-${notice}` },
    system: [
      { type: 'text', text: `x-anthropic-billing-header: cch=${mix(`${notice}`).toString(16)};` },
      ...texts.map((block, i) => (i === texts.length - 1 && notice % 2 ? { ...block, ...mark } : block)),
    ],
    tools: tools.map(({ name, text, deferred }) => ({
      name,
      description: text,
      input_schema: { type: 'object' },
      ...(deferred ? { defer_loading: true } : {}),
    })),
    messages: messages.map(({ role, parts }, i) => {
      const blocks = parts.map(blockOf);
      if (i === messages.length - 1) Object.assign(blocks.at(-1) ?? {}, mark);
      const [only] = parts;
      // A text without a mark may be written as a string.
      return {
        role,
        content: i < messages.length - 1 && parts.length === 1 && only?.is === 'text' ? only.text : blocks,
      };
    }),
  };
}

function blockOf(part: Part): object {
  switch (part.is) {
    case 'text':
      return { type: 'text', text: part.text };
    case 'thought':
      return { type: 'thinking', thinking: part.thought.text, signature: part.thought.seal };
    case 'call':
      return { type: 'tool_use', id: part.id, name: 'Bash', input: part.input };
    case 'result':
      return {
        type: 'tool_result',
        tool_use_id: part.id,
        content: part.found
          ? part.found.map((name) => ({ type: 'tool_reference', tool_name: name }))
          : part.text,
      };
  }
}
