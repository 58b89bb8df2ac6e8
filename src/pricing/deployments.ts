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

export const PROVISIONED_CARD = freeCard('provisioned throughput, billed by the hour');
