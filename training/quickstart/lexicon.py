"""The words of the quickstart phrases, English and French, with what the grammar must know about them."""

from dataclasses import dataclass

ENGLISH_PERSONS = ("I", "you", "he", "we", "they")
FRENCH_PERSONS = ("je", "tu", "il", "nous", "ils")
"""The columns of every table of forms; "she" and the nouns go with "he", plural nouns with "they"."""


@dataclass(frozen=True)
class Noun:
    """A noun; `kind` says which verbs and adjectives go with it."""

    english: str
    plural: str
    french: str
    gender: str
    kind: str

    @property
    def feminine(self) -> bool:
        return self.gender == "f"

    @property
    def mass(self) -> bool:
        return self.kind in ("drink", "meal")


@dataclass(frozen=True)
class Adjective:
    """An adjective of nouns of some kinds.

    `first` puts it before the French noun; `attribute` allows it beside a noun, `predicate` after "be".
    """

    english: str
    masculine: str
    feminine: str
    kinds: tuple[str, ...]
    first: bool = False
    before_vowel: str = ""
    attribute: bool = True
    predicate: bool = True


@dataclass(frozen=True)
class Verb:
    """A verb with its French forms in the order of `FRENCH_PERSONS`.

    A verb without a past is used in the present alone: a state whose French past would be another tense, or
    an English verb that looks the same in both. `definite` asks for "the", "this" or a possessive.
    """

    english: str
    past: str
    present: tuple[str, ...]
    participle: str
    objects: str
    subjects: str = "person"
    preposition: str = ""
    definite: bool = False
    timed: bool = True


def er(stem: str) -> tuple[str, ...]:
    return tuple(stem + ending for ending in ("e", "es", "e", "ons", "ent"))


def ir(stem: str) -> tuple[str, ...]:
    return tuple(stem + ending for ending in ("is", "is", "it", "issons", "issent"))


def re(stem: str) -> tuple[str, ...]:
    return tuple(stem + ending for ending in ("s", "s", "", "ons", "ent"))


def forms(text: str) -> tuple[str, ...]:
    return tuple(text.split())


NOUNS = [
    Noun(*line.split())
    for line in """
        boy boys garçon m person
        girl girls fille f person
        man men homme m person
        woman women femme f person
        child children enfant m person
        brother brothers frère m person
        sister sisters sœur f person
        uncle uncles oncle m person
        aunt aunts tante f person
        king kings roi m person
        queen queens reine f person
        dog dogs chien m animal
        cat cats chat m animal
        bird birds oiseau m animal
        horse horses cheval m animal
        mouse mice souris f animal
        cow cows vache f animal
        house houses maison f thing
        car cars voiture f thing
        tree trees arbre m thing
        flower flowers fleur f thing
        boat boats bateau m thing
        key keys clé f tool
        knife knives couteau m tool
        clock clocks horloge f tool
        chair chairs chaise f tool
        table tables table f tool
        lamp lamps lampe f tool
        book books livre m text
        letter letters lettre f text
        newspaper newspapers journal m text
        poem poems poème m text
        door doors porte f opening
        window windows fenêtre f opening
        box boxes boîte f opening
        drawer drawers tiroir m opening
        hat hats chapeau m clothes
        coat coats manteau m clothes
        dress dresses robe f clothes
        shirt shirts chemise f clothes
        apple apples pomme f food
        orange oranges orange f food
        egg eggs œuf m food
        cake cakes gâteau m food
        carrot carrots carotte f food
        bread - pain m meal
        cheese - fromage m meal
        meat - viande f meal
        soup - soupe f meal
        water - eau f drink
        milk - lait m drink
        coffee - café m drink
        tea - thé m drink
    """.strip().splitlines()
]

PLACES = [
    Noun(*line.split(), kind="place")
    for line in """
        garden gardens jardin m
        kitchen kitchens cuisine f
        forest forests forêt f
        city cities ville f
        park parks parc m
        school schools école f
        church churches église f
        hotel hotels hôtel m
        hospital hospitals hôpital m
        village villages village m
        shop shops magasin m
    """.strip().splitlines()
]

LIVING = ("person", "animal")
SOLID = ("thing", "tool", "text", "opening", "clothes")
ADJECTIVES = [
    Adjective("small", "petit", "petite", (*LIVING, *SOLID, "food"), first=True),
    Adjective("big", "grand", "grande", ("animal", *SOLID), first=True),
    Adjective("beautiful", "beau", "belle", (*LIVING, *SOLID), first=True, before_vowel="bel"),
    Adjective("old", "vieux", "vieille", (*LIVING, *SOLID), first=True, before_vowel="vieil"),
    Adjective("new", "nouveau", "nouvelle", SOLID, first=True, before_vowel="nouvel", predicate=False),
    Adjective("young", "jeune", "jeune", LIVING, first=True),
    Adjective("good", "bon", "bonne", ("food", "meal", "drink", "text"), first=True),
    Adjective("red", "rouge", "rouge", (*SOLID, "food")),
    Adjective("black", "noir", "noire", ("animal", *SOLID)),
    Adjective("white", "blanc", "blanche", ("animal", *SOLID)),
    Adjective("green", "vert", "verte", (*SOLID, "food")),
    Adjective("blue", "bleu", "bleue", SOLID),
    Adjective("hot", "chaud", "chaude", ("meal", "drink")),
    Adjective("cold", "froid", "froide", ("meal", "drink")),
    Adjective("sad", "triste", "triste", LIVING),
    Adjective("sick", "malade", "malade", LIVING),
    Adjective("calm", "calme", "calme", LIVING),
    Adjective("free", "libre", "libre", LIVING),
    Adjective("happy", "heureux", "heureuse", LIVING),
    Adjective("tired", "fatigué", "fatiguée", LIVING),
    Adjective("ready", "prêt", "prête", ("person", "food", "meal"), attribute=False),
    Adjective("strong", "fort", "forte", (*LIVING, "drink"), attribute=False),
]

ANYTHING = "person animal thing tool text opening clothes food"
VERBS = [
    # states, without a time
    Verb("love", "", er("aim"), "", "person animal thing text clothes food meal", definite=True, timed=False),
    Verb("know", "", forms("connais connais connaît connaissons connaissent"), "", "person", timed=False),
    Verb("understand", "understood", forms("comprends comprends comprend comprenons comprennent"), "compris",
         "person text", timed=False),
    Verb("have", "", forms("ai as a avons ont"), "", "animal thing tool text clothes food meal", timed=False),
    Verb("want", "", forms("veux veux veut voulons veulent"), "", "animal tool clothes food meal drink",
         timed=False),
    # persons and animals
    Verb("help", "helped", er("aid"), "aidé", "person"),
    Verb("watch", "watched", er("regard"), "regardé", "person animal thing", "person animal"),
    Verb("listen to", "listened to", er("écout"), "écouté", "person animal", definite=True),
    Verb("look for", "looked for", er("cherch"), "cherché", ANYTHING, "person animal"),
    Verb("find", "found", er("trouv"), "trouvé", ANYTHING, "person animal"),
    Verb("see", "saw", forms("vois vois voit voyons voient"), "vu", ANYTHING, "person animal"),
    Verb("hear", "heard", re("entend"), "entendu", "person animal", "person animal"),
    Verb("wait for", "waited for", re("attend"), "attendu", "person", "person animal"),
    Verb("call", "called", forms("appelle appelles appelle appelons appellent"), "appelé", "person"),
    Verb("speak to", "spoke to", er("parl"), "parlé", "person animal", preposition="à"),
    Verb("answer", "answered", re("répond"), "répondu", "person", preposition="à"),
    # things
    Verb("eat", "ate", forms("mange manges mange mangeons mangent"), "mangé", "food meal", "person animal"),
    Verb("drink", "drank", forms("bois bois boit buvons boivent"), "bu", "drink", "person animal"),
    Verb("buy", "bought", forms("achète achètes achète achetons achètent"), "acheté",
         "thing tool text clothes food meal drink"),
    Verb("sell", "sold", re("vend"), "vendu", "animal thing tool text clothes food meal"),
    Verb("lose", "lost", re("perd"), "perdu", "tool text clothes"),
    Verb("take", "took", forms("prends prends prend prenons prennent"), "pris", "tool text clothes food"),
    Verb("carry", "carried", er("port"), "porté", "tool text clothes"),
    Verb("choose", "chose", ir("chois"), "choisi", "animal thing tool text clothes food"),
    Verb("wash", "washed", er("lav"), "lavé", "opening clothes"),
    Verb("finish", "finished", ir("fin"), "fini", "text meal", definite=True),
    Verb("read", "", forms("lis lis lit lisons lisent"), "", "text"),
    Verb("write", "wrote", forms("écris écris écrit écrivons écrivent"), "écrit", "text"),
    Verb("open", "opened", forms("ouvre ouvres ouvre ouvrons ouvrent"), "ouvert", "opening"),
    Verb("close", "closed", er("ferm"), "fermé", "opening"),
    # places
    Verb("go to", "", forms("vais vas va allons vont"), "", "place", preposition="à"),
    Verb("come from", "", forms("viens viens vient venons viennent"), "", "place", preposition="de"),
    Verb("sleep", "slept", forms("dors dors dort dormons dorment"), "dormi", "place", "person animal"),
    Verb("work", "worked", er("travaill"), "travaillé", "place"),
    Verb("sing", "sang", er("chant"), "chanté", "place"),
    Verb("live", "", er("habit"), "", "place", timed=False),
]  # fmt: skip

PRESENT_TIMES = {
    "every day": "tous les jours",
    "in the morning": "le matin",
    "in the evening": "le soir",
    "today": "aujourd'hui",
}
PAST_TIMES = {
    "yesterday": "hier",
    "this morning": "ce matin",
    "last week": "la semaine dernière",
    "today": "aujourd'hui",
}
