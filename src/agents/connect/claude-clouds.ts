import type { Access, Environment } from '../run/start.ts';

type Variables = Readonly<Record<string, string>>;

interface CloudMode {
  cloud: string;
  /** Variables that send the mode's requests to gw. */
  variables(access: Pick<Access, 'origin' | 'key'>, env: Environment): Variables;
}

/**
 * Modes in which Claude Code speaks a cloud's API, by their switches: https://code.claude.com/docs/en/llm-gateway. It sends
 * gw's key as ANTHROPIC_AUTH_TOKEN in those that skip the cloud's own authentication.
 */
const MODES: Readonly<Record<string, CloudMode>> = {
  CLAUDE_CODE_USE_BEDROCK: {
    cloud: 'Bedrock',
    variables: ({ origin }) => ({
      ANTHROPIC_BEDROCK_BASE_URL: origin,
      CLAUDE_CODE_SKIP_BEDROCK_AUTH: '1',
      // Would be sent instead of gw's key.
      AWS_BEARER_TOKEN_BEDROCK: '',
    }),
  },
  CLAUDE_CODE_USE_MANTLE: {
    cloud: 'Bedrock',
    variables: ({ origin }) => ({
      ANTHROPIC_BEDROCK_MANTLE_BASE_URL: `${origin}/anthropic`,
      CLAUDE_CODE_SKIP_MANTLE_AUTH: '1',
      ANTHROPIC_BEDROCK_MANTLE_API_KEY: '',
    }),
  },
  CLAUDE_CODE_USE_VERTEX: {
    cloud: 'Vertex AI',
    variables: ({ origin }, env) => ({
      ANTHROPIC_VERTEX_BASE_URL: `${origin}/v1`,
      CLAUDE_CODE_SKIP_VERTEX_AUTH: '1',
      // Claude Code needs one for the path. gw uses that of its account.
      ANTHROPIC_VERTEX_PROJECT_ID: env.ANTHROPIC_VERTEX_PROJECT_ID || 'gw',
    }),
  },
  CLAUDE_CODE_USE_FOUNDRY: {
    cloud: 'Foundry',
    variables: ({ origin, key }) => ({
      ANTHROPIC_FOUNDRY_BASE_URL: `${origin}/anthropic`,
      ANTHROPIC_FOUNDRY_API_KEY: key,
      // Claude Code takes either a base URL or a resource.
      ANTHROPIC_FOUNDRY_RESOURCE: '',
    }),
  },
};

/** A switch of a service that gw has no accounts at: Anthropic's platform in AWS's marketplace. */
const NOT_SERVED = ['CLAUDE_CODE_USE_ANTHROPIC_AWS'];

const OFF: ReadonlySet<string | undefined> = new Set(['', '0', 'false', 'no', 'off', undefined]);

/** Points the cloud modes that are on. A login of the client's own goes to Anthropic, so it turns them off. */
export function pointClouds(access: Pick<Access, 'origin' | 'key' | 'subscription'>, env: Environment) {
  const isOn = (name: string) => !OFF.has(env[name]);
  const served = Object.entries(MODES).filter(([name]) => isOn(name));
  const kept = access.subscription ? [] : served;
  const off = [...(access.subscription ? served.map(([name]) => name) : []), ...NOT_SERVED.filter(isOn)];
  return {
    isOn: kept.length > 0,
    variables: Object.assign(
      {},
      ...kept.map(([, { variables }]) => variables(access, env)),
      ...off.map((name) => ({ [name]: '0' })),
    ),
    notes: [
      ...kept.map(([name, { cloud }]) => `${name} is on: requests go to gw, and from there to ${cloud}`),
      ...off.map((name) => `${name} is off in this run: requests go to gw`),
    ],
  };
}
