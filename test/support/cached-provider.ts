import type { Script } from './scripts.ts';
import { json } from './scripts.ts';

/** The tokens of a text, as no tokenizer of gw counts them: dense in JSON, sparse in prose. */
export const tokensOf = (text: string): string[] => text.match(/ ?[A-Za-z]{1,7}|\d{1,3}|[^\w\s]|\s+/g) ?? [];

interface Part {
  text: string;
  /** How long a cache mark keeps the prompt up to here. */
  markMs?: number;
}

interface Body {
  model: string;
  tools?: object[];
  system?: object[];
  messages: { role: string; content: string | object[] }[];
}

/** A prompt as the provider has read it, and what its cache did. */
export interface ServedPrompt {
  model: string;
  tokens: string[];
  read: number;
  written5m: number;
  written1h: number;
  /** How many of the first tokens the cache has from now on. */
  cached: number;
}

interface Entry {
  text: string;
  tokens: string[];
  expiresAt: number;
  ttlMs: number;
}

const MINUTE = 60_000;

/** A provider with a prompt cache: Claude's by marks, OpenAI's of its own accord in steps of 128 from 1,024 on. */
export function createCachedProvider(now: () => number) {
  let entries: Entry[] = [];
  const served: ServedPrompt[] = [];

  function live(model: string): Entry[] {
    entries = entries.filter(({ expiresAt }) => expiresAt > now());
    return entries.filter(({ text }) => text.startsWith(`${model}\n`));
  }

  function serveMarked(model: string, parts: Part[]): ServedPrompt {
    const known = live(model);
    const boundaries = parts.map((_, i) => ({
      at: i,
      text: `${model}\n${parts
        .slice(0, i + 1)
        .map(({ text }) => text)
        .join('\n')}`,
      tokens: parts.slice(0, i + 1).flatMap(({ text }) => tokensOf(text)),
    }));
    const marks = boundaries.filter(({ at }) => parts[at]?.markMs !== undefined);
    const readable = boundaries.filter(({ at }) => marks.some((mark) => at <= mark.at && mark.at - at < 20));
    const hit = readable.findLast(({ text }) => known.some((entry) => entry.text === text));
    for (const entry of known) if (hit?.text.startsWith(entry.text)) entry.expiresAt = now() + entry.ttlMs;
    const read = hit?.tokens.length ?? 0;
    const written = { [5 * MINUTE]: 0, [60 * MINUTE]: 0 };
    let end = read;
    for (const { at, text, tokens } of marks) {
      const ttlMs = parts[at]?.markMs ?? 0;
      if (tokens.length <= end || tokens.length < 1_024) continue;
      written[ttlMs] = (written[ttlMs] ?? 0) + tokens.length - end;
      end = tokens.length;
      entries.push({ text, tokens, ttlMs, expiresAt: now() + ttlMs });
    }
    const tokens = parts.flatMap(({ text }) => tokensOf(text));
    const [written5m = 0, written1h = 0] = [written[5 * MINUTE], written[60 * MINUTE]];
    return { model, tokens, read, written5m, written1h, cached: end };
  }

  function serveAutomatic(model: string, parts: Part[]): ServedPrompt {
    const tokens = parts.flatMap(({ text }) => tokensOf(text));
    let read = 0;
    for (const entry of live(model)) {
      let shared = 0;
      while (shared < tokens.length && tokens[shared] === entry.tokens[shared]) shared++;
      if (shared >= 1_024) read = Math.max(read, shared - (shared % 128));
    }
    const ttlMs = 5 * MINUTE;
    entries.push({ text: `${model}\n`, tokens, ttlMs, expiresAt: now() + ttlMs });
    const cached = tokens.length < 1_024 ? 0 : tokens.length - (tokens.length % 128);
    return { model, tokens, read, written5m: 0, written1h: 0, cached };
  }

  const script: Script = async (exchange) => {
    const body = JSON.parse((await exchange.body).toString()) as Body;
    const parts = partsOf(body);
    const isMarked = body.model.startsWith('claude');
    const prompt = isMarked ? serveMarked(body.model, parts) : serveAutomatic(body.model, parts);
    served.push(prompt);
    await json(200, isMarked ? messageOf(prompt) : completionOf(prompt))(exchange);
  };

  return {
    script,
    /** What came in, the oldest first. */
    served,
    /** Forgets everything, as a provider may at any time. */
    drop() {
      entries = [];
    },
  };
}

function partsOf({ tools = [], system = [], messages }: Body): Part[] {
  const contents = messages.flatMap(({ role, content }) =>
    (typeof content === 'string' ? [{ text: content }] : content).map((block) => ({ role, ...block })),
  );
  return [...tools, ...system, ...contents].map((value) => {
    const { cache_control: mark, ...block } = value as { cache_control?: { ttl?: string } };
    const markMs = mark && { markMs: mark.ttl === '1h' ? 60 * MINUTE : 5 * MINUTE };
    return { text: JSON.stringify(block), ...markMs };
  });
}

function messageOf({ model, tokens, read, written5m, written1h }: ServedPrompt) {
  return {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model,
    content: [{ type: 'text', text: 'Done.' }],
    stop_reason: 'end_turn',
    stop_sequence: null,
    usage: {
      input_tokens: tokens.length - read - written5m - written1h,
      cache_read_input_tokens: read,
      cache_creation_input_tokens: written5m + written1h,
      cache_creation: { ephemeral_5m_input_tokens: written5m, ephemeral_1h_input_tokens: written1h },
      output_tokens: 5,
    },
  };
}

function completionOf({ model, tokens, read }: ServedPrompt) {
  return {
    id: 'chatcmpl-test',
    object: 'chat.completion',
    created: 1_767_225_600,
    model,
    choices: [{ index: 0, message: { role: 'assistant', content: 'Done.' }, finish_reason: 'stop' }],
    usage: {
      prompt_tokens: tokens.length,
      completion_tokens: 5,
      total_tokens: tokens.length + 5,
      prompt_tokens_details: { cached_tokens: read },
    },
  };
}
