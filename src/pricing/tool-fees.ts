/**
 * Fees of server-side tools, charged in addition to tokens. From the price pages of OpenAI
 * (developers.openai.com/api/docs/pricing), Anthropic (platform.claude.com/docs/en/about-claude/pricing), Microsoft
 * (azure.microsoft.com/pricing) and xAI (docs.x.ai/docs/models) as of November 2026; of a range, the upper end.
 * `gw config set fees.NAME` overrides them.
 */
import { type NanoUsd, parseUsd } from '../money.ts';

/** A fee is charged for each call, or once for a request that may call the tool. */
export interface ToolFee {
  nanoUsd: NanoUsd;
  per: 'call' | 'request';
  /** The tool runs in a container, which is billed by the minute; the fee is for the longest time. */
  perMinute?: NanoUsd;
  /** The owner has set it. */
  isOwn?: boolean;
}

type Fees = Readonly<Record<string, ToolFee>>;

const perCall = (usd: string): ToolFee => ({ nanoUsd: parseUsd(usd) ?? 0, per: 'call' });
const perRequest = (usd: string): ToolFee => ({ nanoUsd: parseUsd(usd) ?? 0, per: 'request' });
const forMinutes = (minutes: number, usd: string): ToolFee => {
  const fee = perRequest(usd);
  return { ...fee, perMinute: fee.nanoUsd / minutes };
};

/** Fees of OpenAI and Anthropic, which agree on the tools that both have. Assumed for all other providers. */
const COMMON: Fees = {
  // Per search; one call may run several.
  web_search: perCall('0.01'),
  web_search_preview: perCall('0.025'),
  file_search: perCall('0.0025'),
  // The dearest image (6,240 tokens at $40 per million), its partial images and its input images.
  image_generation: perCall('0.40'),
  web_fetch: perCall('0'),
  mcp: perCall('0'),
  // A chat model that searches once per answer.
  chat_search: perRequest('0.025'),
  // A 20-minute session, by memory size.
  container: forMinutes(20, '0.03'),
  container_4g: forMinutes(20, '0.12'),
  container_16g: forMinutes(20, '0.48'),
  container_64g: forMinutes(20, '1.92'),
  code_execution: forMinutes(60, '0.05'),
};

const BY_PROVIDER: Readonly<Record<string, Fees>> = {
  azure: { web_search: perCall('0.035'), web_search_preview: perCall('0.035') },
  xai: {
    web_search: perCall('0.005'),
    x_search: perCall('0.005'),
    collections_search: perCall('0.0025'),
    code_execution: perCall('0.005'),
  },
  openrouter: {
    chat_search: perRequest('0.05'),
    // A thousand pages, the most that its OCR reads of a document, in the dearest region.
    file_parser: perRequest('2.20'),
  },
};

/** The fee for a tool at a provider; undefined if unknown. */
export function toolFee(
  provider: string,
  tool: string,
  own: Readonly<Record<string, Pick<ToolFee, 'nanoUsd'>>>,
): ToolFee | undefined {
  const listed = ownEntry(ownEntry(BY_PROVIDER, provider) ?? {}, tool) ?? ownEntry(COMMON, tool);
  const set = ownEntry(own, tool);
  if (set === undefined) return listed;
  // The owner's fee is for a request, however long its container runs.
  return { nanoUsd: set.nanoUsd, per: listed?.per ?? 'request', isOwn: true };
}

function ownEntry<T>(table: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(table, key) ? table[key] : undefined;
}
