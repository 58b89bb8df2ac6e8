import type { NanoUsd } from '../../money.ts';
import { type ToolFee, toolFee } from '../../pricing/tool-fees.ts';
import type { ServerTool, ServerTools } from '../../wire/request/server-tools.ts';
import type { WireRequest } from '../../wire/request/wire-request.ts';
import type { Target } from '../state/resolver.ts';

/** Cost that the provider's tools add to a request. */
export interface ToolFees {
  /** Limit of tool calls, in total or for each tool: the request's own, or the one to write into it. */
  calls: number;
  /** The limit may be cut down to this. */
  leastCalls: number;
  /** Upper bound of the fees with this limit. */
  feesAt(calls: number): NanoUsd;
  /** Number of times that the model may read its context again with this limit. */
  roundsAt(calls: number): number;
  /** The most that a round is held to add to the context; undefined if it may fill it. */
  addedTokens: number | undefined;
  /** The tools, whose fees are billed by what the answer reports. */
  tools: readonly ServerTool[];
  limit: ServerTools['limit'];
  /** Undefined if unknown. */
  feeFor(name: string): ToolFee | undefined;
  /** A tool whose fee is unknown or has no bound. */
  unknown: ServerTool | undefined;
}

export interface ToolFeesOptions {
  provider: string;
  choices: number;
  /** The user's `fees` settings, by tool. */
  fees: Readonly<Record<string, Pick<ToolFee, 'nanoUsd'>>>;
  /** Limit of calls for a request that sets none. */
  maxCalls: number;
  /** Tokens that a round of code is held to add to the context; 0: it may fill it. */
  codeResultTokens: number;
}

/** One call may run several searches; four is the most that was observed. */
const SEARCHES_PER_CALL = 4;
/** Anthropic pauses an answer after so many rounds: https://platform.claude.com/docs/en/build-with-claude/handling-stop-reasons */
const MAX_ROUNDS = 10;
/** Tools that a stored prompt may add. */
const PROMPT_TOOLS = ['web_search', 'file_search', 'image_generation', 'container'];
/** The tools of Anthropic's API that take a limit of their own. */
const TAKES_LIMIT = /^web_(search|fetch)$/;
/** Rounds when calls can't be limited: the fee is per request, and so is the extra input. */
const ONE_ROUND = 1;

const IS_SEARCH_MODEL = /-search-(preview|api)\b/;
/** Searches, reads and reasons without a limit; only its output is limited. */
const IS_RESEARCH_MODEL = /\bsonar-deep-research\b/;

/** Accept the limit of all calls and ignore it (https://docs.mistral.ai/api/endpoint/responses), or have another field. */
const IGNORES_LIMIT: ReadonlySet<string> = new Set(['mistral', 'xai']);

/** Groq's systems search and run code without a limit: https://console.groq.com/docs/compound */
const IS_SYSTEM = /\bcompound(-beta)?(-mini)?$/;

/** OpenRouter takes 50 MB at most, so no more documents than this matter. */
const MAX_DOCUMENTS = 10_000;

/**
 * The tools of a request, with those that the model brings: search models, and OpenRouter's suffix `:online` and presets.
 * OpenRouter reads documents by OCR where the model can't read them and no plugin is named:
 * https://openrouter.ai/docs/guides/overview/multimodal/pdfs
 */
export function toolsFor(
  { serverTools: request, nonText, bytes }: Pick<WireRequest, 'serverTools' | 'nonText' | 'bytes'>,
  { provider, model }: Target,
): ServerTools | undefined {
  const tools: ServerTool[] = request?.tools.slice() ?? [];
  if (provider.name === 'openrouter') {
    if (model.includes('@preset/')) tools.push({ name: 'preset', field: 'model' });
    const documents = nonText.context ? documentsIn(bytes) : 0;
    if (documents > 0) tools.push({ name: 'file_parser', field: 'messages', times: documents });
  }
  if (IS_SEARCH_MODEL.test(model) && !tools.some(({ name }) => name === 'chat_search')) {
    tools.push({ name: 'chat_search', field: 'model' });
  }
  if (IS_RESEARCH_MODEL.test(model)) tools.push({ name: 'deep_research', field: 'model' });
  if (IS_SYSTEM.test(model)) tools.push({ name: 'compound', field: 'model' });
  if (/:online\b/.test(model)) tools.push({ name: 'online', field: 'model' });
  if (tools.length === 0) return undefined;
  if (!request) return { tools, limit: 'none' };
  return tools.length === request.tools.length ? request : { ...request, tools, removal: undefined };
}

/** At least as many as a body has: a part of type `file` has a member of that name, too. */
function documentsIn(bytes: Buffer): number {
  const words = bytes.toString('latin1').match(/"(?:file|input_file|document)"/g) ?? [];
  const files = words.filter((word) => word === '"file"').length;
  return Math.min(Math.ceil(files / 2) + words.length - files, MAX_DOCUMENTS);
}

export function toolFees(request: ServerTools, options: ToolFeesOptions): ToolFees {
  const { provider, choices, fees, maxCalls, codeResultTokens } = options;
  const limit = request.limit === 'all' && IGNORES_LIMIT.has(provider) ? 'none' : request.limit;
  const tools = request.tools.flatMap((tool) =>
    tool.name === 'prompt' ? PROMPT_TOOLS.map((name) => ({ ...tool, name })) : [tool],
  );
  const feeFor = (name: string) => toolFee(provider, name, fees);
  const priced = tools.map((tool) => ({ tool, fee: feeFor(tool.name) }));
  // A fee per call has a bound only if the calls can be limited, or the user has set the fee.
  const isBounded = ({ tool, fee }: { tool: ServerTool; fee: ToolFee | undefined }) =>
    fee !== undefined &&
    (limit === 'all' ||
      (limit === 'each' && (TAKES_LIMIT.test(tool.name) || fee.nanoUsd === 0)) ||
      fee.per === 'request' ||
      Object.hasOwn(fees, tool.name));
  const isCode = limit === 'each' && request.heldByRounds === true;
  const calls = isCode ? MAX_ROUNDS : (request.maxCalls ?? maxCalls);
  const requestFees = sum(priced, ({ tool, fee }) =>
    fee?.per === 'request' ? fee.nanoUsd * choices * (tool.times ?? 1) : 0,
  );
  const perCall = priced.map(({ tool, fee }) => ({
    tool,
    nanoUsd: fee?.per === 'call' ? fee.nanoUsd * perUse(tool) : 0,
  }));
  // Anthropic limits searches, OpenAI limits calls.
  function perUse({ name }: ServerTool): number {
    return limit === 'all' && /^web_search/.test(name) ? SEARCHES_PER_CALL : 1;
  }
  const isLimited = tools.every(({ limitEdit, name }) => limitEdit && TAKES_LIMIT.test(name));
  const callsAt = (most: number, tool: ServerTool) => tool.maxCalls ?? most;
  return {
    calls,
    leastCalls: isCode
      ? calls
      : (request.maxCalls ?? (limit === 'all' && request.removal ? 0 : Math.min(1, calls))),
    feesAt(most) {
      if (limit === 'all') return requestFees + most * Math.max(0, ...perCall.map(({ nanoUsd }) => nanoUsd));
      return (
        requestFees +
        sum(perCall, ({ tool, nanoUsd }) => nanoUsd * (limit === 'each' ? callsAt(most, tool) : 1))
      );
    },
    roundsAt(most) {
      if (limit === 'all') return most;
      if (limit === 'none') return ONE_ROUND;
      if (isCode) return most;
      return isLimited
        ? Math.min(
            MAX_ROUNDS,
            sum(tools, (tool) => callsAt(most, tool)),
          )
        : MAX_ROUNDS;
    },
    addedTokens: isCode && codeResultTokens > 0 ? codeResultTokens : undefined,
    tools,
    limit,
    feeFor,
    unknown: priced.find((each) => !isBounded(each))?.tool,
  };
}

function sum<T>(list: readonly T[], value: (item: T) => number): number {
  return list.reduce((total, item) => total + value(item), 0);
}
