import { createHash } from 'node:crypto';
import type { Settings } from '../../config/settings.ts';
import { applyEdits, removeMember } from '../../json/edit.ts';
import { isObject } from '../../json/object.ts';
import type { Member } from '../../json/scan.ts';
import type { PriceCard } from '../../pricing/price-card.ts';
import { memberOf } from '../../wire/request/fields.ts';
import type { WireRequest } from '../../wire/request/wire-request.ts';
import type { Gateway } from '../context/gateway.ts';
import type { RequestContext } from '../context/request-context.ts';
import type { ReplayKey } from '../state/replays.ts';
import type { Target } from '../state/resolver.ts';

/** How long answers to a request are replayed, in milliseconds: its own time, its key's, its project's, or that of all. */
function replayMs({ options, caller, project }: RequestContext, settings: Settings): number {
  return (
    options.replayMs ??
    (
      settings['replay.keys'][caller.keyId] ??
      settings['replay.projects'][project.name] ??
      settings['replay.ttl']
    ).ms
  );
}

/** Undefined if the request is not to be replayed. docs/replay.md lists what counts. */
export function replayKey(
  gateway: Pick<Gateway, 'catalog' | 'clock' | 'settings'>,
  context: RequestContext,
  targets: readonly Target[],
): ReplayKey | undefined {
  const settings = gateway.settings();
  const ttlMs = replayMs(context, settings);
  if (ttlMs === 0 || !isReplayable(context.request, settings['replay.any_temperature'] === 'on'))
    return undefined;
  const { caller, exchange, options, project, request, wire } = context;
  const { headers } = exchange.request;
  const now = gateway.clock.now();
  const places = targets.map(({ provider, model }) => [
    ...[provider.name, provider.origin, provider.basePath, model],
    priceText(gateway.catalog().find(provider.name, model, now)),
  ]);
  const about = [
    ...[project.id, caller.keyId, wire.path, exchange.target.query, request.wantsUsage],
    ...[options.optimize ?? null, options.route ?? null, places],
    ...COUNTING_HEADERS.map((name) => headers[name] ?? null),
  ];
  const key = createHash('sha256').update(JSON.stringify(about)).update(ownBody(request)).digest('hex');
  return { projectId: project.id, key, ttlMs };
}

const COUNTING_HEADERS = ['anthropic-version', 'anthropic-beta', 'openai-beta'];

/** Fields that make an answer part of something stored, or start a job. */
const STATEFUL = new Set(['conversation', 'background', 'prompt_id', 'container', 'mcp_servers']);

/**
 * Whether the same answer serves such a request twice. Not if it asks for several, or for variety, if the provider runs
 * tools for it, or if it refers to something stored, which may have changed.
 */
function isReplayable(request: WireRequest, anyTemperature: boolean): boolean {
  const { members, choices, nonText, options, serverTools } = request;
  if (choices > 1 || serverTools || nonText.context || options.explain) return false;
  if (members.some(({ key }) => STATEFUL.has(key))) return false;
  return anyTemperature || !members.some((member) => asksForVariety(request, member));
}

/** Fields that have a temperature, or are one; Gemini's is in an object. */
const TEMPERATURE = new Set(['temperature', 'generationConfig', 'generation_config', 'inferenceConfig']);

function asksForVariety({ bytes }: WireRequest, { key, start, end }: Member): boolean {
  if (!TEMPERATURE.has(key)) return false;
  const value: unknown = JSON.parse(bytes.toString('utf8', start, end));
  // `null` is the model's default, as without the field.
  return Number((isObject(value) ? value.temperature : value) ?? 0) !== 0;
}

/** The client's body without `service`, which is gw's. */
function ownBody({ bytes, members }: WireRequest): Buffer {
  const service = members.some(({ key }) => key === 'service') && memberOf(members, 'service');
  return service ? applyEdits(bytes, [removeMember(members, service)]) : bytes;
}

/** By card, which the catalog keeps. */
const priceTexts = new WeakMap<PriceCard, string>();

function priceText(card: PriceCard | undefined): string {
  if (!card) return '';
  const known = priceTexts.get(card);
  if (known !== undefined) return known;
  const { source: _, bounds: _bounds, dearest: _dearest, ...prices } = card;
  const text = JSON.stringify(prices, (_key, value) => (typeof value === 'bigint' ? String(value) : value));
  priceTexts.set(card, text);
  return text;
}
