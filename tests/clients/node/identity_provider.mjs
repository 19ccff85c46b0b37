// An identity provider (OpenID Connect) that demands PKCE, and whose person never has to type: whoever is asked for is logged in.
//
// Prints its address, then obeys each line of its input, and answers it with a line `done`:
//   person {"sub": ..., "groups": [...]}   who logs in from now on
//   rotate                                 new keys; the old ones are gone
//   token {"alg": "none"} and the like     what is wrong with every ID token from now on; {} for nothing
import { createServer } from "node:http";
import { createInterface } from "node:readline";
import * as jose from "jose";
import Provider from "oidc-provider";

// The library gives advice on the output that the test reads.
console.info = console.error;

const [client_id, client_secret, redirect_uri] = process.argv.slice(2);
let person = { sub: "nobody" };
let wrong = {};
let key;
let provider;
let serve;

const server = createServer(async (request, response) => {
  const url = new URL(request.url, issuer());
  try {
    if (url.pathname.startsWith("/interaction/")) {
      await provider.interactionFinished(request, response, { login: { accountId: person.sub } });
    } else if (url.pathname === "/token") {
      await answerToken(request, response);
    } else {
      serve(request, response);
    }
  } catch (error) {
    console.error(error);
    response.writeHead(500).end();
  }
});

const issuer = () => `http://127.0.0.1:${server.address().port}`;

async function rotate() {
  const pair = await jose.generateKeyPair("RS256", { extractable: true });
  key = { ...(await jose.exportJWK(pair.privateKey)), kid: crypto.randomUUID(), alg: "RS256", use: "sig" };
  provider = new Provider(issuer(), {
    clients: [{ client_id, client_secret, redirect_uris: [redirect_uri] }],
    jwks: { keys: [key] },
    cookies: { keys: ["of tests"] },
    claims: { openid: ["sub", "realm_access"], profile: ["preferred_username", "groups"], email: ["email", "email_verified"] },
    // Else what a scope asks for is told at userinfo alone, which a person of `asked` wants.
    get conformIdTokenClaims() {
      return person.asked === true;
    },
    pkce: { required: () => true },
    features: { devInteractions: { enabled: false } },
    interactions: { url: (context, interaction) => `/interaction/${interaction.uid}` },
    findAccount: (context, sub) => ({ accountId: sub, claims: () => ({ ...person, sub }) }),
    loadExistingGrant: async (context) => {
      const grant = new context.oidc.provider.Grant({
        clientId: context.oidc.client.clientId,
        accountId: context.oidc.session.accountId,
      });
      grant.addOIDCScope("openid profile email");
      await grant.save();
      return grant;
    },
  });
  serve = provider.callback();
}

// Passes the request on, and puts another ID token into the answer where one is to be wrong.
async function answerToken(request, response) {
  const end = response.end.bind(response);
  response.end = (body) => {
    if (Object.keys(wrong).length === 0 || !body) return end(body);
    spoil(JSON.parse(body)).then((spoilt) => {
      response.setHeader("content-length", Buffer.byteLength(spoilt));
      end(spoilt);
    });
    return response;
  };
  serve(request, response);
}

async function spoil(answer) {
  const claims = { ...jose.decodeJwt(answer.id_token), ...wrong.claims };
  const header = { alg: wrong.alg ?? "RS256", kid: key.kid };
  const text = (value) => Buffer.from(JSON.stringify(value)).toString("base64url");
  if (wrong.alg === "none") {
    answer.id_token = `${text(header)}.${text(claims)}.`;
  } else if (wrong.alg === "HS256") {
    const secret = new TextEncoder().encode(client_secret);
    answer.id_token = await new jose.SignJWT(claims).setProtectedHeader(header).sign(secret);
  } else {
    const own = wrong.foreign_key ? (await jose.generateKeyPair("RS256")).privateKey : await jose.importJWK(key, "RS256");
    answer.id_token = await new jose.SignJWT(claims).setProtectedHeader(header).sign(own);
  }
  return JSON.stringify(answer);
}

server.listen(0, "127.0.0.1", async () => {
  await rotate();
  console.log(JSON.stringify({ issuer: issuer() }));
  for await (const line of createInterface({ input: process.stdin })) {
    const [word, ...rest] = line.split(" ");
    if (word === "person") person = JSON.parse(rest.join(" "));
    else if (word === "token") wrong = JSON.parse(rest.join(" "));
    else await rotate();
    console.log("done");
  }
  process.exit(0);
});
