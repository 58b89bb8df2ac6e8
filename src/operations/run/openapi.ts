import { z } from 'zod';
import { VERSION } from '../../version.ts';
import type { Description } from '../operation.ts';
import { descriptions, EARLIER_ROUTES, GW_ROUTES, statusOf } from '../registry.ts';
import { EARLIER } from '../schemas/earlier.ts';

type Json = Record<string, unknown>;

const ERROR = z.object({
  error: z.object({
    message: z.string(),
    type: z.string(),
    param: z.string().nullable(),
    code: z.string(),
  }),
});

/**
 * The OpenAPI 3.1 document of gw's own endpoints: https://spec.openapis.org/oas/v3.1.0. Its version is gw's. Within a
 * major version, answers only gain fields.
 */
export async function openapi(): Promise<Json> {
  const paths: Record<string, Json> = {};
  const described = { ...(await descriptions()), ...EARLIER };
  for (const route of [...GW_ROUTES, ...EARLIER_ROUTES]) {
    const [method = '', path = ''] = route.split(' ');
    const description = described[route];
    if (!description) throw new Error(`${route} has no description`);
    paths[path] = { ...paths[path], [method.toLowerCase()]: operationOf(route, description) };
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'gw',
      version: VERSION,
      description:
        "gw's own endpoints. A project key sees its own project, an admin key all. Answers may gain fields.",
    },
    security: [{ key: [] }],
    paths,
    components: {
      securitySchemes: { key: { type: 'http', scheme: 'bearer' } },
      schemas: { error: schemaOf(ERROR) },
    },
  };
}

function operationOf(route: string, { summary, query, body, response }: Description): Json {
  const names = [...route.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
  return {
    summary,
    parameters: [
      ...names.map((name) => ({ name, in: 'path', required: true, schema: { type: 'string' } })),
      ...(query ? queryParameters(query) : []),
    ],
    ...(body ? { requestBody: { required: true, content: jsonOf(schemaOf(body)) } } : {}),
    responses: {
      [statusOf(route)]: { description: 'ok', content: jsonOf(schemaOf(response)) },
      default: { description: 'error', content: jsonOf({ $ref: '#/components/schemas/error' }) },
    },
  };
}

function queryParameters(query: z.ZodObject): Json[] {
  const { properties = {}, required = [] } = schemaOf(query) as {
    properties?: Record<string, Json>;
    required?: string[];
  };
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    in: 'query',
    required: required.includes(name),
    schema,
  }));
}

/** As an input, an object may have other fields too: an answer of a later version is still valid. */
function schemaOf(schema: z.ZodType): Json {
  const { $schema, ...rest } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
  return rest;
}

const jsonOf = (schema: Json) => ({ 'application/json': { schema } });
