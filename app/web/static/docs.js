"use strict";
// The API reference: Swagger UI, which takes the place of the plain list that the server sends.
(() => {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const follow = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
  dark.addEventListener("change", follow);
  follow();
  const box = document.getElementById("reference");
  if (!box || typeof SwaggerUIBundle === "undefined") return;
  // Swagger UI puts the link of an operation into the button that opens it; a button must not contain a link.
  const withoutNestedLinks = (system) => ({
    wrapComponents: { DeepLink: () => ({ text }) => system.React.createElement("span", null, text) },
  });
  SwaggerUIBundle({
    url: box.dataset.document,
    domNode: box,
    deepLinking: true,
    docExpansion: "list",
    defaultModelsExpandDepth: 0,
    displayRequestDuration: true,
    tryItOutEnabled: true,
    persistAuthorization: false,
    validatorUrl: null,
    presets: [SwaggerUIBundle.presets.apis],
    plugins: [withoutNestedLinks],
    layout: "BaseLayout",
  });
})();
