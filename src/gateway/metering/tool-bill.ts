import { amountOf, type Bound, bookBound, type NanoUsd } from '../../money.ts';
import { costOf } from '../../pricing/cost.ts';
import {
  readImageUsage,
  readToolCalls,
  readToolRuns,
  reportsToolCalls,
} from '../../pricing/usage-payload.ts';
import { FLAGS } from '../../store/ledger/record.ts';
import { NO_USAGE } from '../../usage.ts';
import type { ServerTool } from '../../wire/request/server-tools.ts';
import type { HeldTools } from '../admission/quote.ts';
import type { Gateway } from '../context/gateway.ts';
import { clampCost, type Metered, type Metering } from './metered.ts';

type BillParts = Pick<Gateway, 'catalog' | 'clock' | 'containers'>;

/** The fees of an answer's tools, and what had to be assumed for them. */
interface ToolBill {
  nanoUsd: NanoUsd;
  assumed: string[];
}

/** Adds the fees of the tools that ran by the answer's report, or of all that were held for if it has none. */
export function billTools(gateway: BillParts, metered: Metered, metering: Metering, held: Bound): Metered {
  const { tools } = metering.admitted.quote;
  if (!tools) return metered;
  const bill = reportedBill(gateway, metering, tools) ?? {
    nanoUsd: bookBound(held),
    assumed: ['the calls of tools'],
  };
  // A broken provider may report any number of calls.
  const { value: costNanoUsd, wasCut } = clampCost(amountOf(metered.costNanoUsd + bill.nanoUsd));
  const assumed = [...(metered.assumed ?? []), ...bill.assumed];
  const isEstimate = bill.assumed.length > 0 || wasCut;
  const flags = (isEstimate ? FLAGS.estimated : 0) | (tools.unknown ? FLAGS.unpriced : 0);
  return {
    ...metered,
    costNanoUsd,
    flags: metered.flags | flags,
    ...(assumed.length > 0 && { assumed }),
  };
}

function reportedBill(
  gateway: BillParts,
  metering: Metering,
  { limit, tools, feeFor }: HeldTools,
): ToolBill | undefined {
  const { usage } = metering.relay;
  if (limit === 'all' && !reportsToolCalls(usage)) return undefined;
  const bill: ToolBill = { nanoUsd: 0, assumed: [] };
  // It may run what no answer names.
  if (tools.some(({ field }) => field === 'prompt')) bill.assumed.push('the tools of a stored prompt');
  const calls = readToolCalls(usage);
  const ownFee = feeFor('image_generation');
  if (!ownFee?.isOwn)
    bill.nanoUsd += pictureCost(gateway, metering, tools, calls.image_generation ?? 0, bill.assumed);
  for (const [name, count] of Object.entries(calls)) {
    if (name === 'image_generation' && !ownFee?.isOwn) continue;
    // Answers report both kinds of web search as `web_search`.
    const isPreview = name === 'web_search' && tools.some((tool) => tool.name === 'web_search_preview');
    const fee = feeFor(isPreview ? 'web_search_preview' : name);
    if (fee?.per === 'call') bill.nanoUsd += fee.nanoUsd * count;
  }
  for (const tool of tools) {
    const fee = feeFor(tool.name);
    if (fee?.per !== 'request') continue;
    if (fee.perMinute !== undefined && tellsContainers(metering, tool))
      addContainers(gateway, metering, fee.perMinute, bill);
    else if (fee.perMinute !== undefined) {
      bill.nanoUsd += fee.nanoUsd;
      bill.assumed.push('a container for the longest time');
    }
    // An advisor's tokens are in the report, at its own price.
    else if (!tool.name.startsWith('advisor'))
      bill.nanoUsd += fee.nanoUsd * metering.admitted.quote.choices * (tool.times ?? 1);
  }
  return bill;
}

/** Whether an answer names the containers that its tools ran in: OpenAI's responses do, and Anthropic's messages. */
function tellsContainers({ relay, target }: Metering, { name }: ServerTool): boolean {
  return name === 'code_execution' ? target.provider.wire === 'anthropic' : reportsToolCalls(relay.usage);
}

/** Containers are billed by the minute that they exist, of which an answer says only which one it used. */
function addContainers(
  { containers }: BillParts,
  metering: Metering,
  perMinute: NanoUsd,
  bill: ToolBill,
): void {
  const { relay, target } = metering;
  const ids = readToolRuns(relay.usage);
  if (ids.length === 0 || metering.admitted.quote.tools?.tools.some(({ runsCode }) => runsCode)) return;
  const minutes = ids.reduce(
    (sum, id) => sum + containers.minutesOf(id && `${target.provider.name} ${id}`),
    0,
  );
  bill.nanoUsd += Math.ceil(minutes * perMinute);
  bill.assumed.push('the minutes of a container');
}

/** OpenAI's default: https://developers.openai.com/api/docs/guides/tools-image-generation */
const DEFAULT_MODEL = 'gpt-image-1';
/** Output tokens of a square picture of high quality, by the same page. */
const TOKENS_PER_PICTURE = 4_160;

/** The cost of a response's pictures, whose tokens are beside its own; of `count` of them if no tokens are reported. */
function pictureCost(
  { catalog, clock }: BillParts,
  { target: { provider }, relay }: Metering,
  tools: readonly ServerTool[],
  count: number,
  assumed: string[],
): NanoUsd {
  const reported = readImageUsage(relay.usage);
  const usage = reported ?? { ...NO_USAGE, outputTokens: count * TOKENS_PER_PICTURE };
  if (usage.outputTokens === 0) return 0;
  const named = tools.find(({ name }) => name === 'image_generation')?.model;
  const pricesAt = (model: string) =>
    catalog().find(provider.name, model, clock.now()) ?? catalog().find('openai', model, clock.now());
  const known = named === undefined ? undefined : pricesAt(named);
  const card = known ?? pricesAt(DEFAULT_MODEL);
  if (!known) assumed.push(`pictures at the price of ${DEFAULT_MODEL}`);
  if (!reported) assumed.push(`${TOKENS_PER_PICTURE} tokens for each picture`);
  return card ? costOf(usage, card) : 0;
}
