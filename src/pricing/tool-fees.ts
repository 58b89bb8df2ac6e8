/**
 * Fees of server-side tools, charged in addition to tokens. From the price pages of OpenAI
 * (developers.openai.com/api/docs/pricing), Anthropic (platform.claude.com/docs/en/about-claude/pricing), Microsoft
 * (azure.microsoft.com/pricing) and xAI (docs.x.ai/docs/models) as of November 2026, with the upper end of price
 * ranges. `gw config set fees.NAME` overrides them.
 */
import { type NanoUsd, parseUsd } from '../money.ts';

/** A fee per call, or once per request that may call the tool. */
export interface ToolFee {
  nanoUsd: NanoUsd;
  per: 'call' | 'request';
  /** Price per minute if the tool runs in a container. The fee covers the longest session. */
  perMinute?: NanoUsd;
  /** Set by the user. */
  isOwn?: boolean;
}

type Fees = Readonly<Record<string, ToolFee>>;

const perCall = (usd: string): ToolFee => ({ nanoUsd: parseUsd(usd) ?? 0, per: 'call' });
const perRequest = (usd: string): ToolFee => ({ nanoUsd: parseUsd(usd) ?? 0, per: 'request' });
const forMinutes = (minutes: number, usd: string): ToolFee => {
  const fee = perRequest(usd);
  return { ...fee, perMinute: fee.nanoUsd / minutes };
};

/** Fees of OpenAI and Anthropic, which are equal for the tools that both have. The default for all other providers. */
const COMMON: Fees = {
  // Per search; one call may run several.
  web_search: perCall('0.01'),
  web_search_preview: perCall('0.025'),
  file_search: perCall('0.0025'),
  // The dearest image (6,240 tokens at $40 per million), with its partial images and input images.
  image_generation: perCall('0.40'),
  web_fetch: perCall('0'),
  mcp: perCall('0'),
  // A chat model that searches once per response.
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
    // A thousand pages, the limit of its OCR per document, in the dearest region.
    file_parser: perRequest('2.20'),
  },
};

/** The fee for a tool at a provider; undefined if unknown. */
export function toolFee(
  provider: string,
  tool: string,
  own: Readonly<Record<string, Pick<ToolFee, 'nanoUsd'>>>,
): ToolFee | undefined {
  const listFee = ownEntry(ownEntry(BY_PROVIDER, provider) ?? {}, tool) ?? ownEntry(COMMON, tool);
  const userFee = ownEntry(own, tool);
  if (userFee === undefined) return listFee;
  // The user's fee is per request, however long the container runs.
  return { nanoUsd: userFee.nanoUsd, per: listFee?.per ?? 'request', isOwn: true };
}

function ownEntry<T>(table: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(table, key) ? table[key] : undefined;
}
