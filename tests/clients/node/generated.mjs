// TypeScript clients of the API's document: types by openapi-typescript with openapi-fetch, and the client that
// openapi-generator wrote into FOLDER/typescript-fetch. Both are compiled strictly and used for a picture.
//
//     node generated.mjs DOCUMENT BASE KEY FOLDER

import { execFileSync } from "node:child_process";
import { cpSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const [document, base, key, folder] = process.argv.slice(2);
const packages = join(dirname(fileURLToPath(import.meta.url)), "node_modules");

const node = (program, ...words) => {
  try {
    return execFileSync(process.execPath, [join(packages, program), ...words], { cwd: folder, encoding: "utf8" });
  } catch (error) {
    console.error(error.stdout, error.stderr);
    process.exit(1);
  }
};

symlinkSync(packages, join(folder, "node_modules"));
node("openapi-typescript/bin/cli.js", document, "-o", join(folder, "schema.ts"));
cpSync(join(folder, "typescript-fetch"), join(folder, "generated"), { recursive: true });
writeFileSync(
  join(folder, "program.ts"),
  `import createClient from "openapi-fetch";
import type { paths } from "./schema";
import { Configuration, ImagesApi, TasksApi } from "./generated/index";

const [base, key] = process.argv.slice(2) as [string, string];

async function typed() {
  const client = createClient<paths>({ baseUrl: base, headers: { authorization: "Bearer " + key } });
  // No field with a default is asked for.
  const made = await client.POST("/v1/images/generations", { body: { model: "ctx-pro", prompt: "a red kite" } });
  if (!made.data || !Array.isArray(made.data.data)) throw new Error(JSON.stringify(made));
  const id = made.data.data[0].task_id;
  const task = await client.GET("/v1/tasks/{task_id}", { params: { path: { task_id: id } } });
  if (task.data?.data.id !== id) throw new Error(JSON.stringify(task));
  console.log("ok openapi-typescript");
}

async function generated() {
  const configuration = new Configuration({ basePath: base, accessToken: key });
  const receipt = await new ImagesApi(configuration).imagesGenerate({
    imagesGenerateRequest: { model: "ctx-pro", prompt: "a red kite" },
  });
  if (!Array.isArray(receipt.data)) throw new Error(JSON.stringify(receipt));
  const id = receipt.data[0].taskId;
  const found = await new TasksApi(configuration).tasksRead({ taskId: id });
  if (found.data.id !== id) throw new Error(JSON.stringify(found));
  console.log("ok openapi-generator typescript-fetch");
}

typed().then(generated).catch((error) => {
  console.error(error);
  process.exit(1);
});
`,
);
writeFileSync(
  join(folder, "tsconfig.json"),
  JSON.stringify({
    compilerOptions: {
      strict: true, target: "es2022", lib: ["es2022", "dom"], module: "commonjs", moduleResolution: "node10",
      outDir: "built", types: [],
    },
    files: ["program.ts", "globals.d.ts"],
  }),
);
writeFileSync(join(folder, "globals.d.ts"), "declare const process: { argv: string[]; exit(code: number): never };\n");
node("typescript/bin/tsc", "--project", folder);
process.stdout.write(execFileSync(process.execPath, [join(folder, "built/program.js"), base, key], { encoding: "utf8" }));
