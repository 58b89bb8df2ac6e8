import { isObject } from '../json/object.ts';
import { freeCard } from './price-card.ts';

/**
 * Kinds of deployments by the factor of their prices. A provisioned one is billed by the hour, so that its tokens cost
 * nothing: https://azure.microsoft.com/pricing/details/azure-openai, November 2026.
 */
export const DEPLOYMENT_KINDS = { global: 1, datazone: 1.1, regional: 1.1, provisioned: 0 } as const;

/** How a provider is billed that the price library doesn't know by its name. */
export interface Billing {
  /** The provider at whose prices. */
  seller: string;
  /** Models behind names that don't say them: `gpt-5.4`, or with the kind of deployment `gpt-5.4,datazone`. */
  deployments?: Readonly<Record<string, string>>;
}

/** What is deployed under a name. */
export interface Deployment {
  model: string;
  kind: keyof typeof DEPLOYMENT_KINDS;
}

/** Undefined for a name that no setting maps. */
export function deploymentOf(billing: Billing | undefined, name: string): Deployment | undefined {
  const all = billing?.deployments;
  const stored = all && Object.hasOwn(all, name) ? all[name] : undefined;
  if (stored === undefined) return undefined;
  const [model = '', kind = 'global'] = stored.split(',');
  return { model, kind: Object.hasOwn(DEPLOYMENT_KINDS, kind) ? (kind as Deployment['kind']) : 'regional' };
}

/** Models that answers have named for deployments which no setting maps, by provider and deployment. */
export type LearntDeployments = Record<string, Record<string, { model: string; at: number }>>;

/** From the row that gw saves. */
export const learntDeployments = (saved: unknown): LearntDeployments =>
  isObject(saved) ? (saved as LearntDeployments) : {};

/** The names of a provider's deployments with their models: the user's own, and the learnt ones. */
export function deploymentsWith(
  learnt: LearntDeployments[string] | undefined,
  own: Billing['deployments'],
): Record<string, string> {
  const models = Object.entries(learnt ?? {}).map(([name, { model }]) => [name, model]);
  return { ...Object.fromEntries(models), ...own };
}

export const PROVISIONED_CARD = freeCard('provisioned throughput, billed by the hour');

/**
 * Anthropic's name of a model of a cloud. Clouds name Claude by region and version, and their answers say neither:
 * `global.anthropic.claude-haiku-4-5-20251001-v1:0`, `claude-haiku-4-5@20251001`.
 */
export const makersName = (model: string): string =>
  model
    .replace(/^(?:[a-z-]{2,10}\.)?anthropic\.(claude-[\w-]+?)(?:-v\d+(?::\d+)?)?$/, '$1')
    .replace(/^(claude-[\w-]+)@(\d{8})$/, '$1-$2');

/** A date, or a version of three or four digits as in `gpt-4-0613`. */
export const VERSION = /[-@:](?:20\d\d-?[01]\d-?[0-3]\d|\d{3,4}|v\d+(?:\.\d+)*)$/;

/** The name by which all hosts of a model are one: without its maker, region and version. */
export function makersModel(model: string): string {
  const name = makersName(model.toLowerCase().replace(/^.*\//, ''));
  return name
    .replace(/^(?:[a-z-]{2,10}\.)?(?:amazon|meta|mistral|openai|qwen|deepseek)\./, '')
    .replace(VERSION, '');
}
