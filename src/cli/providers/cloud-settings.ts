import type { ProviderSettings } from '../../config/settings.ts';
import { DEPLOYMENT_KINDS } from '../../pricing/deployments.ts';
import { type CloudKind, isCloud } from '../../providers/clouds/account.ts';
import type { Context } from '../context.ts';
import { usageError } from '../exit.ts';

/** Options of `gw providers add` for accounts at clouds. */
export interface CloudOptions {
  kind?: 'openai' | 'anthropic' | 'gemini' | CloudKind;
  region?: string;
  profile?: string;
  surface?: 'runtime' | 'mantle' | 'invoke';
  project?: string;
  resource?: string;
  deployment?: string[];
  entra?: boolean;
}

type CloudSettings = Pick<
  ProviderSettings,
  'kind' | 'region' | 'profile' | 'surface' | 'project' | 'resource' | 'entra' | 'deployments'
>;

const OPTIONS: Readonly<Record<CloudKind, readonly (keyof CloudOptions)[]>> = {
  bedrock: ['region', 'profile', 'surface', 'deployment'],
  vertex: ['project', 'region'],
  azure: ['resource', 'deployment', 'entra'],
};

/** The cloud that a provider is an account of; undefined for any other. */
export const cloudOf = (name: string, kind: CloudOptions['kind']): CloudKind | undefined => {
  const cloud = kind ?? name;
  return isCloud(cloud) ? cloud : undefined;
};

/** The settings of an account at a cloud, checked. Empty for other providers, which have no such options. */
export function cloudSettings(
  { env }: Context,
  name: string,
  options: CloudOptions & { keyEnv?: string; stdin?: boolean },
): CloudSettings {
  const cloud = cloudOf(name, options.kind);
  const wrong = Object.values(OPTIONS)
    .flat()
    .find((option) => options[option] !== undefined && !(cloud && OPTIONS[cloud].includes(option)));
  if (wrong !== undefined)
    throw usageError(`--${wrong} is no option of ${name}${cloud ? '' : '. Name its cloud with --kind'}`);
  if (!cloud) return {};
  const { profile, surface, project = env.GOOGLE_CLOUD_PROJECT, resource, entra, deployment } = options;
  // Google Cloud's express mode: a key without a project.
  const isExpress =
    cloud === 'vertex' && !project && (options.keyEnv !== undefined || options.stdin === true);
  const given =
    options.region ?? (cloud === 'bedrock' ? env.AWS_REGION || env.AWS_DEFAULT_REGION : undefined);
  const region = isExpress ? 'global' : given;
  if (cloud === 'bedrock' && !region)
    throw usageError(`which region of AWS? Run: gw providers add ${name} --region us-east-1`);
  if (cloud === 'vertex' && !project && (!isExpress || (given ?? region) !== region))
    throw usageError(
      `which project of Google Cloud? Run: gw providers add ${name} --project PROJECT${isExpress ? ', or leave out --region: a key without a project is global' : ''}`,
    );
  return {
    ...(name === cloud ? {} : { kind: cloud }),
    ...(region === undefined ? {} : { region }),
    ...(profile === undefined ? {} : { profile }),
    ...(surface === undefined ? {} : { surface }),
    ...(cloud === 'vertex' && project !== undefined ? { project } : {}),
    ...(resource === undefined ? {} : { resource: resourceName(resource) }),
    ...(entra ? { entra } : {}),
    ...(deployment ? { deployments: Object.fromEntries(deployment.map(deploymentIn)) } : {}),
  };
}

function resourceName(resource: string): string {
  if (/^[a-z0-9][a-z0-9-]{0,62}$/i.test(resource)) return resource;
  throw usageError(`--resource "${resource}" is not the name of a resource. For an address, use --base-url`);
}

/** `NAME=MODEL`, or `NAME=MODEL,datazone` for a deployment of another kind than a global one. */
function deploymentIn(text: string): [string, string] {
  const [, name, model, kind = 'global'] = /^(.+)=([^=,]+)(?:,(\w+))?$/.exec(text) ?? [];
  if (name === undefined || model === undefined) throw usageError(`--deployment "${text}" is not NAME=MODEL`);
  if (!Object.hasOwn(DEPLOYMENT_KINDS, kind))
    throw usageError(
      `--deployment "${text}": "${kind}" is not one of ${Object.keys(DEPLOYMENT_KINDS).join(', ')}`,
    );
  return [name, kind === 'global' ? model : `${model},${kind}`];
}
