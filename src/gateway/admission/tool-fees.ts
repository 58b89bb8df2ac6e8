import type { NanoUsd } from '../../money.ts';
import { type ToolFee, toolFee } from '../../pricing/tool-fees.ts';
import { readImageCost, readToolCalls, tellsToolCalls } from '../../pricing/tool-usage.ts';
import type { ServerTool, ServerTools } from '../../wire/request/server-tools.ts';

/** What the provider's own tools add to a request's cost. */
export interface ToolFees {
  /** The most calls, of all tools or of each, that the request can make: its own limit, or the one to write into it. */
  calls: number;
  /** The fewest to which they may be cut. */
  leastCalls: number;
  /** The most fees with so many calls. */
  feesAt(calls: number): NanoUsd;
  /** How often the model can read its whole context again, with what the tools brought. */
  roundsAt(calls: number): number;
  /** The fees of what an answer reports; undefined where it doesn't say. */
  feesOf(usage: unknown): NanoUsd | undefined;
  /** Part of the fees is for time, which nobody tells. */
  isEstimate: boolean;
  /** A tool of which nobody knows what it costs. */
  unknown: ServerTool | undefined;
}

export interface ToolFeesOptions {
  provider: string;
  choices: number;
  /** What the user has set, by tool. */
  fees: Readonly<Record<string, Pick<ToolFee, 'nanoUsd'>>>;
  /** How many calls a request is allowed that sets no limit of its own. */
  maxCalls: number;
}

/** One call may search for several things at once: four is the most that is seen. */
const SEARCHES_PER_CALL = 4;
/** Anthropic pauses an answer after so many rounds: https://platform.claude.com/docs/en/build-with-claude/handling-stop-reasons */
const MAX_ROUNDS = 10;
/** What a stored prompt may bring. */
const ANY_TOOL = ['web_search', 'file_search', 'image_generation', 'container'];
/** Where calls can't be limited, a fee is for the whole request, and so is what it lets the model read. */
const ONE_ROUND = 1;

const IS_SEARCH_MODEL = /-search-(preview|api)\b/;
/** It searches, reads and thinks for as long as it likes, beside the limit of its output. */
const IS_RESEARCHER = /\bsonar-deep-research\b/;

/** They take the limit of all calls and pass over it (https://docs.mistral.ai/api/endpoint/responses), or have another. */
const PASS_OVER_LIMIT: ReadonlySet<string> = new Set(['mistral', 'xai']);

/** The tools of a request to a model: some search without being asked, and OpenRouter does by a suffix of the name. */
export function toolsFor(request: ServerTools | undefined, model: string): ServerTools | undefined {
  const tools: ServerTool[] = request?.tools.slice() ?? [];
  if (IS_SEARCH_MODEL.test(model) && !tools.some(({ name }) => name === 'chat_search')) {
    tools.push({ name: 'chat_search', field: 'model' });
  }
  if (IS_RESEARCHER.test(model)) tools.push({ name: 'deep_research', field: 'model' });
  if (/:online\b/.test(model)) tools.push({ name: 'online', field: 'model' });
  if (tools.length === 0) return undefined;
  return request ? { ...request, tools } : { tools, limit: 'none' };
}

export function toolFees(request: ServerTools, options: ToolFeesOptions): ToolFees {
  const { provider, choices, fees, maxCalls } = options;
  const limit = request.limit === 'all' && PASS_OVER_LIMIT.has(provider) ? 'none' : request.limit;
  const tools = request.tools.flatMap((tool) =>
    tool.name === 'prompt' ? ANY_TOOL.map((name) => ({ ...tool, name })) : [tool],
  );
  const feeFor = (name: string) => toolFee(provider, name, fees);
  const priced = tools.map((tool) => ({ tool, fee: feeFor(tool.name) }));
  // What is charged by the call can only be held where the calls can be limited, or the user has said what to hold.
  const isKnown = ({ tool, fee }: { tool: ServerTool; fee: ToolFee | undefined }) =>
    fee !== undefined && (limit !== 'none' || fee.per === 'request' || Object.hasOwn(fees, tool.name));
  const calls = request.maxCalls ?? maxCalls;
  const once = sum(priced, ({ fee }) => (fee?.per === 'request' ? fee.nanoUsd * choices : 0));
  const perCall = priced.map(({ tool, fee }) => ({
    tool,
    nanoUsd: fee?.per === 'call' ? fee.nanoUsd * perUse(tool) : 0,
  }));
  // Anthropic's limit counts searches, OpenAI's calls.
  function perUse({ name }: ServerTool): number {
    return limit === 'all' && /^web_search/.test(name) ? SEARCHES_PER_CALL : 1;
  }
  const isLimited = tools.every(({ limitEdit, name }) => limitEdit && /^web_(search|fetch)$/.test(name));
  const usesAt = (most: number, tool: ServerTool) => tool.maxCalls ?? most;
  return {
    calls,
    leastCalls: request.maxCalls ?? Math.min(1, calls),
    feesAt(most) {
      if (limit === 'all') return once + most * Math.max(0, ...perCall.map(({ nanoUsd }) => nanoUsd));
      return (
        once + sum(perCall, ({ tool, nanoUsd }) => nanoUsd * (limit === 'each' ? usesAt(most, tool) : 1))
      );
    },
    roundsAt(most) {
      if (limit === 'all') return most;
      if (limit === 'none') return ONE_ROUND;
      return isLimited
        ? Math.min(
            MAX_ROUNDS,
            sum(tools, (tool) => usesAt(most, tool)),
          )
        : MAX_ROUNDS;
    },
    feesOf(usage) {
      if (limit === 'all' && !tellsToolCalls(usage)) return undefined;
      const reported = Object.entries(readToolCalls(usage));
      const images = readImageCost(usage);
      const byCall = sum(reported, ([name, count]) => {
        if (name === 'image_generation' && images !== undefined) return 0;
        const fee = searchFee(name) ?? feeFor(name);
        return fee?.per === 'call' ? fee.nanoUsd * count : 0;
      });
      return once + byCall + Math.ceil(images ?? 0);
    },
    isEstimate: tools.some(({ name }) => /^(container|code_execution)/.test(name)),
    unknown: priced.find((each) => !isKnown(each))?.tool,
  };

  /** The answer does not say which search it was that was asked for. */
  function searchFee(name: string): ToolFee | undefined {
    if (name !== 'web_search') return undefined;
    return priced.find(({ tool }) => tool.name === 'web_search_preview')?.fee;
  }
}

function sum<T>(list: readonly T[], value: (item: T) => number): number {
  return list.reduce((total, item) => total + value(item), 0);
}
